#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <tune/resources.hpp>

#include "runtime/host_port.hpp"
#include "runtime/tls_files.hpp"

namespace tune::runtime {

/// What a process that joins a driver offers, and for how long.
struct NodeOptions {
  HostPort driver;
  LocalResources local = {};
  std::string experiment = {};       ///< Its name; empty: whichever the driver runs.
  bool stays = false;                ///< Waits for another experiment after the end of one.
  bool is_shown = true;              ///< Tells on stderr what happens.
  std::optional<TlsFiles> tls = {};  ///< None: the connection is plain.
  /// Where it makes a directory of its own if it does not see the driver's; empty: the system's for
  /// temporary files.
  std::filesystem::path scratch = {};
};

/// Serves a driver as a node: waits for it, runs its trials, and joins again after a loss, until
/// the experiment is over, the driver refuses it, or a signal comes. Ends the process.
[[noreturn]] void serve_node(const NodeOptions& options);

}  // namespace tune::runtime
