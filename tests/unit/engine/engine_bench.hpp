#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tune/scheduler.hpp>

#include "engine/engine.hpp"

namespace tune::engine {

/// A scheduler whose answers the test writes; by default it does what FIFO does.
class PuppetScheduler final : public TrialScheduler {
 public:
  std::function<Decision(SchedulerContext&, const Trial&, const Result&)> result = {};
  std::function<void(SchedulerContext&, const Trial&)> added = {};
  std::function<std::optional<TrialId>(SchedulerContext&)> choose = {};
  std::optional<Objective> own_objective = {};
  std::string own_time_attr = "training_iteration";
  Json own_options = {{"name", "puppet"}};
  bool own_needs_checkpoints = false;
  bool own_needs_metric = false;
  std::vector<Result> told;  ///< All results, in order.
  std::vector<TrialId> completed, failed;
  std::optional<Result> last;  ///< What the latest on_trial_completed brought.

  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& r) override {
    told.push_back(r);
    return result ? result(context, trial, r) : Decision::proceed;
  }
  void on_trial_added(SchedulerContext& context, const Trial& trial) override {
    if (added) added(context, trial);
  }
  void on_trial_completed(SchedulerContext&, const Trial& trial, const Result& r) override {
    completed.push_back(trial.id());
    last = r;
  }
  void on_trial_failed(SchedulerContext&, const Trial& trial) override {
    failed.push_back(trial.id());
  }
  std::optional<TrialId> choose_trial_to_run(SchedulerContext& context) override {
    return choose ? choose(context) : TrialScheduler::choose_trial_to_run(context);
  }
  [[nodiscard]] bool needs_checkpoints() const override { return own_needs_checkpoints; }
  [[nodiscard]] bool needs_metric() const override { return own_needs_metric; }
  [[nodiscard]] std::string time_attr() const override { return own_time_attr; }
  [[nodiscard]] std::optional<Objective> objective() const override { return own_objective; }
  [[nodiscard]] Json options() const override { return own_options; }
};

/// An engine and short words for what happens to it. Keeps the commands of the latest event.
class EngineBench {
 public:
  explicit EngineBench(EngineOptions options = {},
                       std::unique_ptr<PuppetScheduler> puppet = nullptr)
      : EngineBench(std::move(options), puppet ? puppet.release() : new PuppetScheduler) {}

  EngineBench& handle(const Event& event) {
    commands.clear();
    engine.handle(event, now, commands);
    for (const Command& command : commands) all.push_back(command);
    history.push_back({event, now, engine.take_decisions()});
    return *this;
  }
  /// Replays what another one went through.
  EngineBench& replay(const EngineBench& other, const KeepEnded& keep = {},
                      bool asks_scheduler = true) {
    engine.begin_replay(keep);
    for (const auto& [event, time, decisions] : other.history) {
      now = time;
      engine.replay(event, time, decisions, asks_scheduler, all);
    }
    history = other.history;
    return *this;
  }
  /// Begins a session, the first or another.
  EngineBench& begin(const EngineOptions& options, std::vector<TrialId> reopened = {},
                     std::vector<TrialId> restarted = {}) {
    return handle(SessionStarted{std::make_shared<const EngineOptions>(options),
                                 std::move(reopened), std::move(restarted)});
  }
  EngineBench& join(std::uint64_t node = 0, double cpu = 1) {
    return handle(NodeJoined{NodeId{node}, "node" + std::to_string(node),
                             ResourceAmounts(Resources{.cpu = cpu})});
  }
  EngineBench& leave(std::uint64_t node) { return handle(NodeLeft{NodeId{node}}); }
  EngineBench& suggest(std::uint64_t trial) {
    return handle(SuggestionReady{TrialId{trial}, Config(Json{{"x", trial}})});
  }
  EngineBench& exhaust(std::uint64_t trial) {
    return handle(SuggestionReady{TrialId{trial}, Exhausted{}});
  }

  /// The next message of the trial's newest start.
  EngineBench& tell(std::uint64_t trial, TrialReport report) {
    const Launch start = launch(trial);
    const std::uint64_t sequence = sequences_[{trial, start.incarnation}]++;
    return handle(TrialMessage{TrialId{trial}, start.incarnation, sequence, std::move(report)});
  }
  EngineBench& report(std::uint64_t trial, std::int64_t iteration,
                      Metrics metrics = {{"loss", 1.0}}, bool done = false) {
    Result result;
    result.metrics = std::move(metrics);
    result.training_iteration = iteration;
    result.time_total_s = 10.0 * static_cast<double>(iteration);
    result.done = done;
    return tell(trial, Reported{result});
  }
  EngineBench& store(std::uint64_t trial, std::int64_t iteration) {
    return tell(trial, CheckpointStored{own_checkpoint_name(launch(trial), iteration), iteration,
                                        10.0 * static_cast<double>(iteration)});
  }
  EngineBench& end(std::uint64_t trial, EndKind kind, const std::string& message = "boom") {
    return tell(trial, Ended{kind, message});
  }

  /// The commands of that type that the latest event gave.
  template <class T>
  [[nodiscard]] std::vector<T> given() const {
    return filter<T>(commands);
  }
  /// All of them, from the first event on.
  template <class T>
  [[nodiscard]] std::vector<T> ever() const {
    return filter<T>(all);
  }
  /// The newest start of a trial. @throws std::logic_error if there is none
  [[nodiscard]] Launch launch(std::uint64_t trial) const {
    std::optional<Launch> newest;
    for (const Launch& launch : ever<Launch>()) {
      if (launch.trial == TrialId{trial}) newest = launch;
    }
    if (!newest) throw std::logic_error("trial " + std::to_string(trial) + " was never launched");
    return *newest;
  }
  /// The newest recorded state of a trial, with reason and error.
  [[nodiscard]] RecordTrialState state(std::uint64_t trial) const {
    RecordTrialState newest;
    for (const RecordTrialState& record : ever<RecordTrialState>()) {
      if (record.trial == TrialId{trial}) newest = record;
    }
    return newest;
  }

 private:
  EngineBench(EngineOptions options, PuppetScheduler* puppet)
      : owned_(
            std::make_unique<Engine>(std::move(options), std::unique_ptr<TrialScheduler>(puppet))),
        scheduler(*puppet),
        engine(*owned_) {}

  std::unique_ptr<Engine> owned_;

 public:
  PuppetScheduler& scheduler;
  Engine& engine;
  Time now{0};
  std::vector<Command> commands;
  std::vector<Command> all;
  struct Step {
    Event event;
    Time now;
    Decisions decisions;
  };
  std::vector<Step> history;  ///< What it went through.

 private:
  template <class T>
  static std::vector<T> filter(const std::vector<Command>& commands) {
    std::vector<T> found;
    for (const Command& command : commands) {
      if (const T* match = std::get_if<T>(&command)) found.push_back(*match);
    }
    return found;
  }

  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> sequences_;
};

/// Options of an experiment that minimises "loss" with a trainable that saves.
[[nodiscard]] inline EngineOptions minimise_loss() {
  EngineOptions options;
  options.objective = Objective{"loss", Mode::min};
  options.trainable_checkpoints = true;
  return options;
}

inline EngineOptions with_a_retry() {
  EngineOptions options = minimise_loss();
  options.max_failures = 1;
  options.retry_pause = Time(2);
  options.max_trials = 10;
  return options;
}

inline std::vector<TrialId> ids(std::vector<std::uint64_t> values) {
  std::vector<TrialId> list;
  for (const std::uint64_t value : values) list.emplace_back(value);
  return list;
}

}  // namespace tune::engine
