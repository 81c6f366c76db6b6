#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <tune/error.hpp>

#include "runtime/doorkeeper.hpp"
#include "runtime/host_port.hpp"
#include "runtime/node_messages.hpp"
#include "runtime/secure_network.hpp"
#include "runtime/tls_files.hpp"

/// How a driver opens its port and how a node connects to it: all that is asked of CAF's network
/// part, in one place.
namespace tune::runtime {

/// Sets up a system for connections to others. The module io::middleman must be loaded there.
void configure_cluster(caf::actor_system_config& config);

struct PortOptions {
  HostPort address;             ///< Port 0 lets the system choose.
  std::optional<TlsFiles> tls;  ///< None: connections are plain.
  Doorkeeper::OnStranger on_stranger;
  /// On a thread of its own: a node that is not let in, and why.
  std::function<void(std::string)> on_refused;
};
/// A port at which others find a gate.
struct OpenPort {
  std::unique_ptr<SecureNetwork> network;  ///< Null: connections are plain.
  std::unique_ptr<Doorkeeper> door;        ///< Hands over to it, so it is the first to go.
};
/// An error says why there is none.
[[nodiscard]] Expected<OpenPort> open_port(caf::actor_system& system, const NodeGateActor& gate,
                                           PortOptions options);
/// Before the system ends.
void close_port(caf::actor_system& system, const NodeGateActor& gate, OpenPort& port);

/// A node's connection to its driver.
struct DriverConnection {
  FrameActor gate;
  Descriptor line;  ///< Of the same socket as CAF's.

  /// CAF sees at once that it is over, even if the other side is silent.
  void end() const;
};

// Both wait, for a bounded time, so they are not for actors.

/// A connection to whoever listens there, or why there is none.
[[nodiscard]] Expected<Descriptor> find_driver(const HostPort& address);
/// The gate of the driver at the other end, or why there is none; with the code `refused` if it
/// would be the same another time. Without `tls` the connection is plain.
///
/// Before a system connects another time the connection before must have been ended: what is left
/// of it could be taken for the new one.
[[nodiscard]] Expected<DriverConnection> connect_to_driver(caf::actor_system& system,
                                                           Descriptor socket,
                                                           const std::optional<TlsFiles>& tls);

}  // namespace tune::runtime
