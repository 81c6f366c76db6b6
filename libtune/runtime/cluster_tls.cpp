#include "cluster_tls.hpp"

#include <stdexcept>
#include <string>

namespace tune::runtime {

std::optional<TlsFiles> cluster_tls(const ClusterOptions& cluster) {
  if (cluster.ca.empty()) return std::nullopt;
  return TlsFiles{cluster.ca, cluster.cert, cluster.key};
}

bool check_cluster_tls(const ClusterOptions& cluster) {
  if (cluster.ca.empty() && cluster.cert.empty() && cluster.key.empty()) return false;
  const auto require = [](const std::string& path, const char* name, const char* option) {
    if (!path.empty()) return;
    throw std::invalid_argument(std::string(name) + " (" + option +
                                ") is missing: --tune-ca, --tune-cert and --tune-key go together");
  };
  require(cluster.ca, "cluster.ca", "--tune-ca");
  require(cluster.cert, "cluster.cert", "--tune-cert");
  require(cluster.key, "cluster.key", "--tune-key");
  const auto checked = check_tls_files({cluster.ca, cluster.cert, cluster.key});
  if (!checked) throw std::invalid_argument(checked.error().message);
  return true;
}

}  // namespace tune::runtime
