#pragma once

#include <cstdint>
#include <string>

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <tune/error.hpp>

#include "runtime/host_port.hpp"
#include "runtime/node_messages.hpp"

/// How a driver opens its port and how a node connects to it: all that is asked of CAF's network
/// part, in one place.
namespace tune::runtime {

/// Sets up a system for connections to others. The module io::middleman must be loaded there.
void configure_cluster(caf::actor_system_config& config);

/// Why nobody could listen there; empty if one can. For a definition that is checked.
[[nodiscard]] std::string explain_unusable_port(const HostPort& address);

/// Opens a port at which others find `gate`. Port 0 lets the system choose.
/// @return the port, or why there is none.
[[nodiscard]] Expected<std::uint16_t> open_port(caf::actor_system& system,
                                                const NodeGateActor& gate, const HostPort& address);
void close_port(caf::actor_system& system, const NodeGateActor& gate, std::uint16_t port);

// Both wait, for a bounded time, so they are not for actors.

/// The address, in numbers, at which somebody listens, or why there is none. CAF by itself would
/// wait for minutes where packets are lost.
[[nodiscard]] Expected<HostPort> find_driver(const HostPort& address);
/// Connects to the driver there: its gate, or why there is none.
///
/// A system connects once: what is left of a connection that broke could be taken for the new one.
[[nodiscard]] Expected<FrameActor> connect_to_driver(caf::actor_system& system,
                                                     const HostPort& address);

}  // namespace tune::runtime
