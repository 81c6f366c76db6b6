#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <caf/actor.hpp>

#include "runtime/gpu_watch.hpp"
#include "runtime/messages.hpp"
#include "runtime/process_messages.hpp"
#include "runtime/process_stage.hpp"
#include "runtime/worker_host.hpp"
#include "runtime/worker_roster.hpp"

namespace tune::runtime {

struct WorkerPoolOptions {
  std::string trainable;             ///< Its key.
  std::vector<std::string> plugins;  ///< Files that workers load, in their order.
  WorkerTimes times;
  bool reuse_workers = true;
  std::vector<std::string> gpus;  ///< LocalMachine::gpus.
};

/// The worker processes of one agent: finds a warm one for each trial, or starts another, as the
/// roster says. Part of the agent: not safe from others.
class WorkerPool {
 public:
  /// @param capacity what this machine offers
  WorkerPool(AgentActor::pointer agent, std::shared_ptr<ProcessStage> stage,
             WorkerPoolOptions options, const ResourceAmounts& capacity);
  /// Ends what has not ended.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Whoever runs the trial, or the worker of one, from now on.
  [[nodiscard]] HostActor start(TrialRun run);
  void on_idle(std::uint64_t worker);
  void on_gone(const WorkerGone& message);
  void on_gpus_free(std::uint64_t worker);
  /// Ends those that are idle. No trial may come any more.
  void end();
  [[nodiscard]] bool is_empty() const { return workers_.empty(); }

 private:
  struct Worker {
    HostActor host;
    std::uint64_t trials = 0;           // that it was told to run
    std::set<std::uint64_t> waits_for;  // to be gone before it starts
  };
  [[nodiscard]] HostActor spawn_host(std::uint64_t id);
  [[nodiscard]] GpuWatchActor& gpu_watch();
  void let_others_start(std::uint64_t gone);

  AgentActor::pointer agent_;
  std::shared_ptr<ProcessStage> stage_;  // with the agent
  WorkerPoolOptions options_;
  caf::actor guardian_;
  GpuWatchActor gpu_watch_;  // from the first worker with a GPU that is gone
  WorkerRoster roster_;
  std::map<std::uint64_t, Worker> workers_;
};

}  // namespace tune::runtime
