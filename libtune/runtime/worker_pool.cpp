#include "runtime/worker_pool.hpp"

#include <utility>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include "runtime/guardian_actor.hpp"

namespace tune::runtime {

WorkerPool::WorkerPool(AgentActor::pointer agent, std::shared_ptr<ProcessStage> stage,
                       WorkerPoolOptions options)
    : agent_(agent), stage_(std::move(stage)), options_(std::move(options)) {
  guardian_ = agent_->system().middleman().spawn_broker(run_guardian_link, stage_);
  agent_->link_to(guardian_);
}

WorkerPool::~WorkerPool() { caf::anon_send(guardian_, EndNode{}); }

OrdersActor WorkerPool::start(TrialRun run) {
  const std::vector<std::string> environment;
  Worker& worker = find_or_spawn(environment);
  worker.is_idle = false;
  ++worker.trials;
  agent_->send(worker.host, StartInWorker{std::move(run)});
  return worker.host;
}

WorkerPool::Worker& WorkerPool::find_or_spawn(const std::vector<std::string>& environment) {
  Worker* other = nullptr;  // idle, and of no use for this environment
  for (auto worker = workers_.rbegin(); worker != workers_.rend(); ++worker) {
    if (!worker->second.is_idle) continue;
    if (worker->second.environment == environment) return worker->second;
    other = &worker->second;
  }
  // It may hold what the new one needs: memory, a device.
  if (other != nullptr) retire(*other);
  return spawn(environment);
}

WorkerPool::Worker& WorkerPool::spawn(const std::vector<std::string>& environment) {
  const std::uint64_t id = next_worker_++;
  HostSetup setup;
  setup.agent = AgentActor(agent_);
  setup.guardian = guardian_;
  setup.stage = stage_;
  setup.worker = id;
  setup.trainable = options_.trainable;
  setup.request.environment = environment;
  setup.times = options_.times;
  setup.reuse_workers = options_.reuse_workers;
  Worker& worker = workers_[id];
  worker.host = agent_->spawn<caf::linked>(host_worker, std::move(setup));
  worker.environment = environment;
  return worker;
}

void WorkerPool::on_idle(std::uint64_t worker) {
  const auto found = workers_.find(worker);
  if (found != workers_.end()) found->second.is_idle = true;
}

void WorkerPool::on_gone(const WorkerGone& message) {
  const auto found = workers_.find(message.worker);
  if (found == workers_.end() || found->second.trials != message.trials) return;
  agent_->send(found->second.host, EndNode{});
  workers_.erase(found);
}

void WorkerPool::end() {
  for (auto& [id, worker] : workers_) {
    if (worker.is_idle) retire(worker);
  }
}

void WorkerPool::retire(Worker& worker) {
  worker.is_idle = false;
  agent_->send(worker.host, EndNode{});
}

}  // namespace tune::runtime
