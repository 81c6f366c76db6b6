#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <caf/actor.hpp>

#include "runtime/messages.hpp"
#include "runtime/process_messages.hpp"
#include "runtime/process_stage.hpp"
#include "runtime/worker_host.hpp"

namespace tune::runtime {

struct WorkerPoolOptions {
  std::string trainable;  ///< Its key.
  WorkerTimes times;
  bool reuse_workers = true;
};

/// The worker processes of one agent: finds a warm one for each trial, or starts another. One that
/// is free serves only trials with the same environment. Part of the agent: not safe from others.
class WorkerPool {
 public:
  WorkerPool(AgentActor::pointer agent, std::shared_ptr<ProcessStage> stage,
             WorkerPoolOptions options);
  /// Ends what has not ended.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Whoever runs the trial from now on.
  [[nodiscard]] OrdersActor start(TrialRun run);
  void on_idle(std::uint64_t worker);
  void on_gone(const WorkerGone& message);
  /// Ends those that are idle. No trial may come any more.
  void end();
  [[nodiscard]] bool is_empty() const { return workers_.empty(); }

 private:
  struct Worker {
    HostActor host;
    std::vector<std::string> environment;
    std::uint64_t trials = 0;  // that it was told to run
    bool is_idle = false;
  };
  [[nodiscard]] Worker& find_or_spawn(const std::vector<std::string>& environment);
  [[nodiscard]] Worker& spawn(const std::vector<std::string>& environment);
  void retire(Worker& worker);

  AgentActor::pointer agent_;
  std::shared_ptr<ProcessStage> stage_;  // with the agent
  WorkerPoolOptions options_;
  caf::actor guardian_;
  std::uint64_t next_worker_ = 1;
  std::map<std::uint64_t, Worker> workers_;
};

}  // namespace tune::runtime
