#include "runtime/worker_pool.hpp"

#include <utility>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include "runtime/gpu_probe.hpp"
#include "runtime/grant_environment.hpp"
#include "runtime/guardian_actor.hpp"

namespace tune::runtime {
WorkerPool::WorkerPool(AgentActor::pointer agent, std::shared_ptr<ProcessStage> stage,
                       WorkerPoolOptions options, const ResourceAmounts& capacity)
    : agent_(agent),
      stage_(std::move(stage)),
      options_(std::move(options)),
      roster_(cores_to_divide(capacity), with_named_gpus(program_environment(), options_.gpus)) {
  guardian_ =
      agent_->system().middleman().spawn_broker(run_guardian_link, AgentActor(agent_), stage_);
  agent_->link_to(guardian_);
}

WorkerPool::~WorkerPool() {
  caf::anon_send(guardian_, EndNode{});
  if (gpu_watch_) caf::anon_send(gpu_watch_, EndNode{});
}

HostActor WorkerPool::start(TrialRun run) {
  const WorkerRoster::Choice choice = roster_.assign(run.launch.grant);
  Worker& worker = workers_[choice.worker];
  if (choice.is_new) {
    worker.host = spawn_host(choice.worker);
    worker.waits_for.insert(choice.waits_for.begin(), choice.waits_for.end());
    if (worker.waits_for.empty()) agent_->send(worker.host, MayStart{});
  }
  for (const std::uint64_t id : choice.ends) agent_->send(workers_.at(id).host, EndNode{});
  ++worker.trials;
  agent_->send(worker.host, StartInWorker{std::move(run)});
  return worker.host;
}

HostActor WorkerPool::spawn_host(std::uint64_t id) {
  HostSetup setup;
  setup.agent = AgentActor(agent_);
  setup.guardian = guardian_;
  setup.stage = stage_;
  setup.worker = id;
  setup.trainable = options_.trainable;
  setup.plugins = options_.plugins;
  setup.request.bounds = roster_.bounds(id);
  setup.times = options_.times;
  setup.reuse_workers = options_.reuse_workers;
  return agent_->spawn<caf::linked>(host_worker, std::move(setup));
}

void WorkerPool::on_idle(std::uint64_t worker) { roster_.on_free(worker); }

void WorkerPool::on_gone(const WorkerGone& message) {
  const auto found = workers_.find(message.worker);
  if (found == workers_.end() || found->second.trials != message.trials) return;
  agent_->send(found->second.host, EndNode{});
  workers_.erase(found);
  const std::vector<std::string> gpus = visible_devices(roster_.bounds(message.worker).environment)
                                            .value_or(std::vector<std::string>());
  if (gpus.empty() || message.pid == 0) return let_others_start(message.worker);
  roster_.on_reaped(message.worker);
  agent_->send(gpu_watch(), AwaitGpus{message.worker, message.pid, gpus});
}

void WorkerPool::on_gpus_free(std::uint64_t worker) { let_others_start(worker); }

GpuWatchActor& WorkerPool::gpu_watch() {
  // NVIDIA's driver may take its time where a GPU is ill: others must not wait for that.
  if (!gpu_watch_) {
    gpu_watch_ = agent_->spawn<caf::detached + caf::linked>(watch_gpus, AgentActor(agent_));
  }
  return gpu_watch_;
}

void WorkerPool::let_others_start(std::uint64_t gone) {
  roster_.on_gone(gone);
  for (auto& [id, worker] : workers_) {
    const bool is_last = worker.waits_for.erase(gone) > 0 && worker.waits_for.empty();
    if (is_last) agent_->send(worker.host, MayStart{});
  }
}

void WorkerPool::end() {
  for (const std::uint64_t id : roster_.retire_free()) {
    agent_->send(workers_.at(id).host, EndNode{});
  }
}

}  // namespace tune::runtime
