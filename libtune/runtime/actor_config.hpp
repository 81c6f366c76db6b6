#pragma once

#include <cstddef>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

namespace tune::runtime {

/// A few threads that share one queue: our actors have little to do and leave the cores to the
/// training code. Nothing is read from files or the command line.
class ActorConfig : public caf::actor_system_config {
 public:
  explicit ActorConfig(bool uses_sockets) {
    if (uses_sockets) load<caf::io::middleman>();  // reads those of processes; opens no port
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", std::size_t{2});
  }
};

}  // namespace tune::runtime
