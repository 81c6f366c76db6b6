#include "runtime/agent_actor.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include <caf/all.hpp>

#include "actor_faults.hpp"
#include "runtime/host.hpp"
#include "store/checkpoint_store.hpp"

namespace tune::runtime {
namespace {

DiskActor::behavior_type serve_disk(DiskActor::pointer self, const store::CheckpointStore& store,
                                    const UpstreamActor& driver) {
  watch_for_faults(self);
  return {
      [=](const engine::DeleteCheckpoint& command) {
        const auto& [trial, name] = command.checkpoint;
        const auto removed = store.remove(trial, name);
        if (!removed) self->send(driver, NodeWarning{removed.error().message});
      },
      [=](const WorkerDied& worker) {
        const auto removed = store.remove_unfinished(worker.trial_name, worker.pid);
        if (!removed) self->send(driver, NodeWarning{removed.error().message});
      },
      [=](const EndNode&) { self->quit(); },
  };
}

bool has_files(const engine::TrialReport& report) {
  const auto* saved = std::get_if<engine::Saved>(&report);
  return std::holds_alternative<engine::CheckpointStored>(report) ||
         std::holds_alternative<engine::Ended>(report) ||
         (saved != nullptr && !saved->saved.directory_name.empty());
}

/// What becomes of a report whose files did not get to the driver.
engine::TrialReport undelivered(const engine::TrialReport& report, const std::string& fault) {
  if (const auto* stored = std::get_if<engine::CheckpointStored>(&report)) {
    return engine::CheckpointFailed{stored->training_iteration, fault};
  }
  return engine::Warned{fault};
}

/// How a trial ends that cannot start for want of its files.
engine::Ended end_without_files(const Error& fault) {
  const bool is_damaged = fault.code == ErrorCode::damaged;
  return {is_damaged ? engine::EndKind::damaged : engine::EndKind::failed, fault.message};
}

}  // namespace

AgentActor::behavior_type NodeAgent::make_behavior(AgentSetup setup) {
  setup_ = std::move(setup);
  self_->set_down_handler([this](const caf::down_msg&) {
    disk_ = nullptr;
    quit_if_done();
  });
  if (setup_.processes && setup_.takes_part) {
    workers_ = std::make_unique<WorkerPool>(self_, setup_.processes, setup_.worker_options,
                                            setup_.capacity);
  }
  if (setup_.make_files) files_ = setup_.make_files(self_);
  teams_.set_up({setup_.driver, workers_.get(), setup_.experiment_name, setup_.experiment_path,
                 files_.get(), [this](engine::TrialMessage end) { keep(std::move(end)); },
                 [this] { go_on(); }});
  const Host host = local_host();
  self_->send(setup_.driver,
              NodeHello{host.name, host.ip, host.pid, setup_.capacity, NodeActor(self_),
                        setup_.labels, /*is_local=*/true, setup_.takes_part});
  return {
      [this](const NodeWelcome& welcome) {
        node_ = welcome.node;
        teams_.set_node(node_);
      },
      [this](NodeTurn& turn) { on(turn); },
      [this](TrialNews& news) { on(news); },
      [this](const FlushNews&) { flush_news(); },
      [this](const WorkerIdle& message) { workers_->on_idle(message.worker); },
      [this](const WorkerDied& message) { self_->send(disk(), message); },
      [this](const GpusFree& message) {
        if (!message.warning.empty()) self_->send(setup_.driver, NodeWarning{message.warning});
        workers_->on_gpus_free(message.worker);
      },
      [this](const WorkerGone& message) {
        workers_->on_gone(message);
        quit_if_done();
      },
      [this](TeamMail& mail) { teams_.on(mail); },
      [this](const NodeLetter& letter) {
        teams_.on(letter);
        go_on();
      },
      [this](const NodeGone& gone) {
        teams_.on(gone);
        go_on();
      },
      [this](NodeNote& note) { self_->send(setup_.driver, std::move(note)); },
      [this](const FilesAt& files) {
        if (files_) files_->take_from(files.server);
      },
      [](const NodePing& ping) { return NodePong{ping.number}; },
      [this](const EndNode&) { end(/*saves=*/false); },
      [this](const LeaveNode&) {
        is_leaving_ = true;
        end(/*saves=*/true);
      },
  };
}

void NodeAgent::on(NodeTurn& turn) {
  for (NodeCommand& command : turn.commands) {
    std::visit(
        [this](auto& c) {
          using Command = std::decay_t<decltype(c)>;
          if constexpr (std::is_same_v<Command, engine::Launch>) {
            launch(c);
          } else if constexpr (std::is_same_v<Command, engine::DeleteCheckpoint>) {
            if (files_) files_->forget(c.checkpoint);
            self_->send(disk(), std::move(c));
          } else {
            order(c);
          }
        },
        command);
  }
  for (Acknowledgement& acknowledgement : turn.acknowledgements) order(acknowledgement);
  send_orders();
}

void NodeAgent::on(TrialNews& news) {
  if (news.rank) {
    teams_.on_worker_news(news);
    return go_on();
  }
  for (engine::TrialMessage& message : news.messages) {
    if (const auto* warned = std::get_if<engine::Warned>(&message.report)) {
      if (warned->is_of_reserved_names) warned_.insert(message.trial);
    }
    if (files_) {
      tell_in_order(std::move(message));
    } else {
      tell(std::move(message));
    }
  }
}

void NodeAgent::tell(engine::TrialMessage message) {
  if (std::holds_alternative<engine::Ended>(message.report)) {
    if (is_own_doing(message)) left_.emplace(message.trial, message.incarnation);
    forget(message.trial, message.incarnation);
    if (teams_.takes_end(message)) return;
  }
  keep(std::move(message));
}

void NodeAgent::forget(TrialId id, std::uint32_t incarnation) {
  const auto trial = trials_.find(id);
  if (trial == trials_.end() || trial->second.incarnation != incarnation) return;
  if (trial->second.watch) free_watches_.push_back(std::move(trial->second.watch));
  trials_.erase(trial);
}

bool NodeAgent::is_own_doing(const engine::TrialMessage& message) const {
  const auto trial = trials_.find(message.trial);
  if (!is_leaving_ || trial == trials_.end() || trial->second.is_told_to_stop) return false;
  const engine::EndKind kind = std::get<engine::Ended>(message.report).kind;
  return kind == engine::EndKind::stopped || kind == engine::EndKind::failed ||
         kind == engine::EndKind::abandoned;
}

void NodeAgent::keep(engine::TrialMessage message) {
  const bool is_end = std::holds_alternative<engine::Ended>(message.report);
  if (is_end && left_.contains({message.trial, message.incarnation})) return quit_if_done();
  news_.push_back(std::move(message));
  // What is in the mailbox now goes along.
  if (!std::exchange(flush_is_due_, true)) self_->send(self_, FlushNews{});
}

// After what may have ended a worker.
void NodeAgent::go_on() {
  while (!waiting_runs_.empty() && !teams_.is_clearing()) {
    TrialRun run = std::move(waiting_runs_.front());
    waiting_runs_.pop_front();
    start(std::move(run));
  }
  send_orders();
  quit_if_done();
}

// What comes behind files that are on their way waits for them.
void NodeAgent::tell_in_order(engine::TrialMessage message) {
  RunningTrial* trial = find(message.trial, message.incarnation);
  if (trial == nullptr || (trial->held.empty() && !has_files(message.report))) {
    return tell(std::move(message));
  }
  const TrialId id = message.trial;
  trial->held.push_back(std::move(message));
  if (trial->held.size() == 1) deliver_first(id, *trial);
}

void NodeAgent::deliver_first(TrialId id, RunningTrial& trial) {
  files_->deliver(trial.held.front(),
                  [this, id, incarnation = trial.incarnation](const std::optional<Error>& fault) {
                    RunningTrial* found = find(id, incarnation);
                    if (found == nullptr || found->held.empty()) return;
                    std::deque<engine::TrialMessage> held = std::exchange(found->held, {});
                    if (fault) tell_undelivered(held.front(), fault->message);
                    tell(std::move(held.front()));
                    held.pop_front();
                    for (engine::TrialMessage& message : held) tell_in_order(std::move(message));
                  });
}

// An end is one whatever becomes of what the trial printed.
void NodeAgent::tell_undelivered(engine::TrialMessage& message, const std::string& fault) {
  if (std::holds_alternative<engine::Ended>(message.report)) {
    self_->send(setup_.driver, NodeWarning{fault});
  } else {
    message.report = undelivered(message.report, fault);
  }
}

NodeAgent::RunningTrial* NodeAgent::find(TrialId id, std::uint32_t incarnation) {
  const auto found = trials_.find(id);
  if (found == trials_.end() || found->second.incarnation != incarnation) return nullptr;
  return &found->second;
}

void NodeAgent::launch(engine::Launch& launch) {
  if (is_ending_) return;
  const TrialId id = launch.trial;
  RunningTrial& trial = trials_[id];
  trial.incarnation = launch.incarnation;
  TrialRun run;
  run.launch = std::move(launch);
  run.experiment_name = setup_.experiment_name;
  run.experiment_path = setup_.experiment_path;
  run.checkpoint = setup_.checkpoint;
  run.initial_checkpoint = setup_.resume_from;
  run.warns_of_reserved_names = !warned_.contains(id);
  run.checkpoints_travel = files_ != nullptr;
  if (!files_) return start_when_clear(std::move(run));
  const auto shared_run = std::make_shared<TrialRun>(std::move(run));  // a std::function is copied
  files_->bring(shared_run->launch, [this, shared_run](const std::optional<Error>& fault) {
    const engine::Launch& wanted = shared_run->launch;
    if (find(wanted.trial, wanted.incarnation) == nullptr) return;
    if (!fault) {
      start_when_clear(std::move(*shared_run));
      return send_orders();
    }
    tell({wanted.trial, wanted.incarnation, 0, end_without_files(*fault)});
  });
}

void NodeAgent::start_when_clear(TrialRun run) {
  if (!teams_.is_clearing()) return start(std::move(run));
  waiting_runs_.push_back(std::move(run));
}

void NodeAgent::start(TrialRun run) {
  const TrialId id = run.launch.trial;
  const std::uint32_t incarnation = run.launch.incarnation;
  RunningTrial& trial = trials_.at(id);
  if (workers_) {
    const bool has_team = !run.launch.workers.empty();
    if (has_team) teams_.begin(run.launch);
    const HostActor host = workers_->start(std::move(run));
    if (has_team) teams_.set_trial(id, incarnation, host);
    trial.actor = host;
  } else {
    trial.watch = free_watch();
    trial.actor = trial.watch;
    self_->send(trial.watch, StartOnThread{std::move(run)});
  }
}

TrialActor NodeAgent::free_watch() {
  if (free_watches_.empty()) {
    return self_->spawn<caf::linked>(watch_trials,
                                     TrialWatchSetup{self_, setup_.threads, setup_.stop_grace});
  }
  TrialActor watch = std::move(free_watches_.back());
  free_watches_.pop_back();
  return watch;
}

DiskActor& NodeAgent::disk() {
  if (!disk_) {
    disk_ = self_->spawn<caf::detached + caf::linked + caf::monitored>(
        serve_disk, store::CheckpointStore(setup_.experiment_path), setup_.driver);
  }
  return disk_;
}

template <class Order>
void NodeAgent::order(Order& order) {
  RunningTrial* trial = find(order.trial, order.incarnation);
  if (trial == nullptr) return;
  if constexpr (std::is_same_v<Order, engine::Stop>) trial->is_told_to_stop = true;
  trial->orders.orders.emplace_back(std::move(order));
}

void NodeAgent::send_orders() {
  for (auto& [id, trial] : trials_) {
    if (!trial.actor || trial.orders.orders.empty()) continue;
    self_->send(trial.actor, std::exchange(trial.orders, {}));
  }
}

void NodeAgent::flush_news() {
  flush_is_due_ = false;
  self_->send(setup_.driver, NodeNews{node_, std::exchange(news_, {})});
  quit_if_done();
}

void NodeAgent::end(bool saves) {
  is_ending_ = true;
  for (auto& [id, trial] : trials_) {
    trial.orders.orders.emplace_back(engine::Stop{id, trial.incarnation, node_, saves});
  }
  send_orders();
  // Else own trials need their workers for the step that they are in.
  if (!is_leaving_) teams_.end();
  quit_if_done();
}

void NodeAgent::quit_if_done() {
  if (!is_ending_ || !trials_.empty()) return;
  // Whose trials are elsewhere end with this actor: before they hear of that they shall hear that
  // the node is lost, which is no failure of theirs.
  const bool leaves_workers = is_leaving_ && teams_.serves_only_others();
  if (!leaves_workers) {
    if (!teams_.is_empty()) return;
    if (workers_ && !workers_->is_empty()) return workers_->end();
  }
  if (flush_is_due_) return;
  for (const TrialActor& watch : std::exchange(free_watches_, {})) self_->send(watch, EndNode{});
  if (disk_) return self_->send(disk_, EndNode{});
  self_->quit(leaves_workers ? caf::exit_reason::kill : caf::exit_reason::normal);
}

AgentActor::behavior_type run_agent(AgentActor::stateful_pointer<NodeAgent> self,
                                    AgentSetup setup) {
  watch_for_faults(self);
  return self->state.make_behavior(std::move(setup));
}

}  // namespace tune::runtime
