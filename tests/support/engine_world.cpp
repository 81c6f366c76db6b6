#include "support/engine_world.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "support/broken_invariant.hpp"
#include "support/engine_text.hpp"

namespace tune::test {
namespace {

std::string path_of(const engine::CheckpointLocation& location) {
  return location.trial_name + "/" + location.directory_name;
}

}  // namespace

EngineWorld::EngineWorld(WorldOptions options, std::unique_ptr<TrialScheduler> scheduler,
                         std::unique_ptr<TrialBehaviour> behaviour)
    : options_(std::move(options)),
      random_(options_.seed, "world"),
      behaviour_(std::move(behaviour)),
      scheduler_(new RecordingScheduler(std::move(scheduler))),
      engine_(std::make_unique<engine::Engine>(options_.engine,
                                               std::unique_ptr<TrialScheduler>(scheduler_))),
      checker_(options_.engine, *scheduler_),
      twin_(options_.engine, *scheduler_) {}

EngineWorld::~EngineWorld() = default;

void EngineWorld::run() {
  while (!queue_.empty() || (!engine_->is_finished() && on_standstill_ && on_standstill_())) {
    if (queue_.empty()) throw BrokenInvariant("standing still\n" + describe_state());
    const Scheduled next = queue_.top();
    queue_.pop();
    now_ = std::max(now_, Time(next.time_s));
    next.action();
    if (handled_events_ > options_.max_events) {
      throw BrokenInvariant("no end after " + std::to_string(handled_events_) + " events\n" +
                            describe_state());
    }
  }
  if (!engine_->is_finished()) throw BrokenInvariant("a hang\n" + describe_state());
}

void EngineWorld::handle(const engine::Event& event) {
  ++handled_events_;
  std::vector<engine::Command> commands;
  if (options_.trace) options_.trace(describe(now_.count()) + " <- " + describe(event));
  checker_.before(event, now_);
  engine_->handle(event, now_, commands);
  if (options_.trace) {
    for (const engine::Command& command : commands) options_.trace("    -> " + describe(command));
  }
  try {
    checker_.after(commands, *engine_);
  } catch (const BrokenInvariant& fault) {
    throw BrokenInvariant(std::string(fault.what()) + "\n" + describe_state());
  }
  twin_.follow(event, now_, engine_->take_decisions(), commands);
  for (const engine::Command& command : commands) carry_out(command);
}

void EngineWorld::at(double time_s, std::function<void()> action) {
  queue_.push({std::max(time_s, now_.count()), next_order_++, std::move(action)});
}

void EngineWorld::after(double seconds, std::function<void()> action) {
  at(now_.count() + seconds, std::move(action));
}

double EngineWorld::delay() {
  const NetworkOptions& network = options_.network;
  return network.min_delay_s + random_.uniform() * (network.max_delay_s - network.min_delay_s);
}

// --- nodes

void EngineWorld::join(NodeId node, const std::string& name, const ResourceAmounts& capacity) {
  nodes_[node] = ++joinings_;
  handle(engine::NodeJoined{node, name, capacity});
}

void EngineWorld::leave(NodeId node) {
  const std::uint64_t joining = nodes_.at(node);
  nodes_.erase(node);
  for (auto& [key, start] : starts_) {
    if (start->launch().node == node) start->die();
  }
  after(delay(), [this, node, joining] {
    const auto present = nodes_.find(node);
    TUNE_ASSERT(present == nodes_.end() || present->second != joining);
    handle(engine::NodeLeft{node});
  });
}

void EngineWorld::request_stop(const std::string& reason) { handle(engine::StopRequested{reason}); }

void EngineWorld::request_interrupt(const std::string& reason) {
  handle(engine::StopRequested{.reason = reason, .interrupts = true});
}

// --- from trials to the engine

void EngineWorld::send(const engine::TrialMessage& message) {
  const NodeId node = starts_.at({message.trial, message.incarnation})->launch().node;
  const std::uint64_t presence = nodes_.at(node);
  after(delay(), [=, this] { deliver(message, node, presence); });
  if (random_.uniform() < options_.network.duplicate_chance) {
    after(3 * delay(), [=, this] { deliver(message, node, presence); });
  }
}

void EngineWorld::deliver(const engine::TrialMessage& message, NodeId node,
                          std::uint64_t presence) {
  const auto present = nodes_.find(node);
  if (present != nodes_.end() && present->second == presence) return handle(message);
  if (random_.uniform() < options_.network.late_chance) {
    after(options_.network.late_s, [=, this] { handle(message); });
  }
}

std::string EngineWorld::load_checkpoint(const engine::Launch& launch) {
  const std::string path = path_of(*launch.checkpoint);
  const auto found = checkpoints_.find(path);
  if (found == checkpoints_.end()) {
    throw BrokenInvariant("a launch needs " + path + ", which is not there\n" + describe_state());
  }
  // Of a start that the engine does not follow any more nothing will count.
  const auto& running = checker_.trial(launch.trial).running;
  const bool counts = running && running->launch.incarnation == launch.incarnation;
  if (counts && running->weights != found->second) {
    throw BrokenInvariant("trial " + std::to_string(launch.trial.value()) +
                          " finds the weights of " + found->second + " in " + path +
                          ", decided were those of " + running->weights + "\n" + describe_state());
  }
  return found->second;
}

void EngineWorld::store_checkpoint(const engine::CheckpointLocation& location,
                                   const std::string& weights) {
  checkpoints_[path_of(location)] = weights;
}

// --- from the engine

void EngineWorld::carry_out(const engine::Command& command) {
  if (const auto* launched = std::get_if<engine::Launch>(&command)) {
    launch(*launched);
  } else if (const auto* proceed = std::get_if<engine::Proceed>(&command)) {
    order(proceed->trial, proceed->incarnation,
          [horizon = proceed->horizon](SimulatedTrial& trial) { trial.proceed(horizon); });
  } else if (const auto* save = std::get_if<engine::Save>(&command)) {
    order(save->trial, save->incarnation, [](SimulatedTrial& trial) { trial.save(); });
  } else if (const auto* pause = std::get_if<engine::Pause>(&command)) {
    order(pause->trial, pause->incarnation, [](SimulatedTrial& trial) { trial.pause(); });
  } else if (const auto* stop = std::get_if<engine::Stop>(&command)) {
    order(stop->trial, stop->incarnation,
          [save = stop->save](SimulatedTrial& trial) { trial.stop(save); });
  } else if (const auto* remove = std::get_if<engine::DeleteCheckpoint>(&command)) {
    checkpoints_.erase(path_of(remove->checkpoint));
  } else if (const auto* ask = std::get_if<engine::AskSearcher>(&command)) {
    answer(ask->trial);
  } else if (const auto* completed = std::get_if<engine::TellSearcherCompleted>(&command)) {
    suggested_[completed->trial] = true;
  } else if (const auto* failed = std::get_if<engine::TellSearcherFailed>(&command)) {
    suggested_[failed->trial] = true;
  } else if (const auto* timer = std::get_if<engine::SetTimer>(&command)) {
    at(timer->at.count(), [this, id = timer->timer] { handle(engine::TimerFired{id}); });
  }
}

void EngineWorld::launch(const engine::Launch& launch) {
  const StartKey key(launch.trial, launch.incarnation);
  SimulatedTrial::Surroundings& surroundings = *this;
  starts_[key] =
      std::make_unique<SimulatedTrial>(launch, options_.engine.checkpoint,
                                       options_.saves_before_it_waits, *behaviour_, surroundings);
  const auto node = nodes_.find(launch.node);
  if (node == nodes_.end()) return starts_[key]->die();  // gone, the engine does not know it yet
  order(launch.trial, launch.incarnation, [](SimulatedTrial& trial) { trial.start(); });
}

void EngineWorld::order(TrialId trial, std::uint32_t incarnation,
                        std::function<void(SimulatedTrial&)> order) {
  const StartKey key(trial, incarnation);
  double& last = last_order_at_[key];
  last = std::max(last, now_.count() + delay());
  at(last, [this, key, order = std::move(order)] {
    SimulatedTrial& start = *starts_.at(key);
    if (!start.has_ended()) order(start);
  });
}

void EngineWorld::answer(TrialId trial) {
  if (waited_for_ && *waited_for_ != trial) {
    throw BrokenInvariant("the searcher is asked for trial " + std::to_string(trial.value()) +
                          " after Wait for trial " + std::to_string(waited_for_->value()));
  }
  waited_for_.reset();
  const bool has_open = std::any_of(suggested_.begin(), suggested_.end(),
                                    [](const auto& entry) { return !entry.second; });
  SearcherModel::Answer answer = Wait{};
  if (!has_open || random_.uniform() >= options_.searcher.wait_chance) {
    answer = options_.searcher.suggest(trial);
  }
  if (std::holds_alternative<Wait>(answer)) waited_for_ = trial;
  if (std::holds_alternative<Config>(answer)) suggested_.emplace(trial, false);
  last_answer_at_ =
      std::max(last_answer_at_, now_.count() + random_.uniform() * options_.searcher.max_delay_s);
  at(last_answer_at_, [=, this] { handle(engine::SuggestionReady{trial, answer}); });
}

std::string EngineWorld::describe_state() const {
  std::ostringstream out;
  out << "the books of the checker, " << checker_.describe_state() << "the world:\n";
  for (const auto& [key, start] : starts_) {
    if (!start->has_ended()) out << "  " << start->describe() << '\n';
  }
  out << "  nodes present:";
  for (const auto& [node, joining] : nodes_) out << ' ' << node;
  out << "\nthe engine says that it waits for: " << engine_->waiting_reason() << '\n';
  return out.str();
}

}  // namespace tune::test
