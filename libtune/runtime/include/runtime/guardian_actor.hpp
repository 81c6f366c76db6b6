#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>

#include <caf/io/broker.hpp>
#include <caf/stateful_actor.hpp>

#include "runtime/frame.hpp"
#include "runtime/process_messages.hpp"
#include "runtime/process_stage.hpp"

namespace tune::runtime {

/// Talks to the guardian process: passes requests on, and what becomes of each worker to its host.
/// A guardian that ends too early takes its workers along; then another is started.
///
/// Reacts to SpawnWorker, KillRequest and, at the end, EndNode.
class GuardianLink {
 public:
  caf::behavior make_behavior(caf::io::broker* self, AgentActor agent,
                              std::shared_ptr<ProcessStage> stage);

 private:
  struct Worker {
    HostActor host;
    pid_t pid = 0;  // 0: not started yet
  };

  void connect();
  void spawn(const SpawnWorker& message);
  void on_bytes(const std::vector<char>& bytes);
  void on(const WorkerSpawned& report);
  void on(const SpawnFailed& report);
  void on(const WorkerExited& report);
  void on(const MemoryLimitFound& report);
  void on_lost();

  caf::io::broker* self_ = nullptr;
  AgentActor agent_;
  std::shared_ptr<ProcessStage> stage_;  // with the agent and the one who runs the experiment
  int socket_ = -1;                      // the scribe's
  caf::io::connection_handle handle_;
  FrameReader reader_;
  std::map<std::uint64_t, Worker> workers_;
  static constexpr int max_losses = 3;
  int losses_ = 0;  // guardians that ended without having started a worker
  bool has_told_memory_limit_ = false;
};

using GuardianBroker = caf::stateful_actor<GuardianLink, caf::io::broker>;
caf::behavior run_guardian_link(GuardianBroker* self, AgentActor agent,
                                std::shared_ptr<ProcessStage> stage);

}  // namespace tune::runtime
