#pragma once

#include <optional>

#include <tune/experiment.hpp>

#include "runtime/tls_files.hpp"

namespace tune::runtime {

/// With what connections to other machines are made; none: they are plain.
[[nodiscard]] std::optional<TlsFiles> cluster_tls(const ClusterOptions& cluster);

/// Whether they are encrypted. @throws std::invalid_argument if only some of the files are given,
/// or connections cannot be made with them: it names the file and the reason.
bool check_cluster_tls(const ClusterOptions& cluster);

}  // namespace tune::runtime
