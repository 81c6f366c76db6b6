#pragma once

#include <cstddef>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

namespace tune::runtime {

/// Threads that share one queue: our actors have little to do and leave the cores to the training
/// code. Nothing is read from files or the command line.
class ActorConfig : public caf::actor_system_config {
 public:
  /// With one thread a message costs no switch from one to another. Two, where an actor among them
  /// may wait: for the disk, as who serves files to other machines.
  ActorConfig(bool uses_sockets, std::size_t threads) {
    if (uses_sockets) load<caf::io::middleman>();  // reads those of processes; opens no port
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", threads);
  }
};

}  // namespace tune::runtime
