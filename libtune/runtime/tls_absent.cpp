#include "runtime/secure_network.hpp"
#include "runtime/tls_files.hpp"

namespace tune::runtime {

std::string explain_missing_tls() {
  return "this build has no TLS: OpenSSL 3 was not found when it was configured (libssl-dev)";
}

Expected<void> check_tls_files(const TlsFiles&) {
  return Error{ErrorCode::not_found, explain_missing_tls()};
}

Expected<std::vector<std::filesystem::path>> make_certificates(const std::filesystem::path&,
                                                               const std::vector<std::string>&) {
  return Error{ErrorCode::not_found, explain_missing_tls()};
}

Expected<std::unique_ptr<SecureNetwork>> SecureNetwork::make(caf::actor_system&, const TlsFiles&,
                                                             Callbacks) {
  return Error{ErrorCode::not_found, explain_missing_tls()};
}

}  // namespace tune::runtime
