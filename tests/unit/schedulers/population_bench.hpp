#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tune/scheduler.hpp>

namespace tune::test {

/// A population scheduler under test, and trials that do at once what it asks for: each has a
/// checkpoint of its newest result, and takes over what it is told to.
class PopulationBench {
 public:
  PopulationBench(std::unique_ptr<TrialScheduler> scheduler, Mode mode)
      : scheduler_(std::move(scheduler)), context_(mode) {
    context_.set_new_trials(NewTrials::none);
  }

  bool saves = true;              ///< A result brings a checkpoint.
  bool refuses_exploits = false;  ///< Its trials do not take over.

  void add(std::uint64_t id, Json config = {{"lr", 0.5}}) {
    const Trial& trial = context_.add(Trial(TrialId{id}, Config(std::move(config))));
    scheduler_->on_trial_added(context_, trial);
    carry_out();
    run(id);
  }

  Decision report(std::uint64_t id, double time, double value) {
    Trial& trial = *context_.find_mutable(TrialId{id});
    if (trial.state() != TrialState::running) return Decision::proceed;
    const Result result(value, static_cast<std::int64_t>(time));
    trial.add_result(result);
    const Decision decision = scheduler_->on_trial_result(context_, trial, result);
    if (saves) trial.set_checkpoint_iteration(result.training_iteration);
    if (decision == Decision::pause) context_.set_state(TrialId{id}, TrialState::paused);
    carry_out();
    return decision;
  }

  /// Starts the trial.
  void run(std::uint64_t id) {
    Trial& trial = *context_.find_mutable(TrialId{id});
    trial.set_incarnation(trial.incarnation() + 1);
    context_.set_state(TrialId{id}, TrialState::running);
  }

  std::optional<TrialId> choose() {
    const std::optional<TrialId> chosen = scheduler_->choose_trial_to_run(context_);
    (void)context_.take_hold();
    carry_out();
    return chosen;
  }

  void run_chosen() {
    if (const auto chosen = choose()) run(chosen->value());
  }

  void complete(std::uint64_t id) {
    const Trial& trial = *context_.find(TrialId{id});
    scheduler_->on_trial_completed(context_, trial, trial.last_result().value_or(Result()));
    carry_out();
    context_.finish(TrialId{id}, {});
  }

  void fail(std::uint64_t id) {
    scheduler_->on_trial_failed(context_, *context_.find(TrialId{id}));
    carry_out();
    context_.finish(TrialId{id}, {.state = TrialState::error});
  }

  void restore_into(std::unique_ptr<TrialScheduler> scheduler) {
    scheduler->restore(Json::parse(scheduler_->save().dump()));
    scheduler_ = std::move(scheduler);
  }

  [[nodiscard]] SchedulerContext& context() { return context_; }
  [[nodiscard]] const TrialScheduler& scheduler() const { return *scheduler_; }
  [[nodiscard]] const std::vector<ExploitTrial>& exploits() const { return exploits_; }
  [[nodiscard]] double horizon(std::uint64_t id) const { return horizons_.at(id); }
  [[nodiscard]] std::string explanation(std::uint64_t id) const {
    const auto found = explanations_.find(id);
    return found == explanations_.end() ? "" : found->second;
  }

 private:
  void carry_out() {
    for (const SchedulerRequest& request : context_.take_requests()) {
      if (const auto* exploit = std::get_if<ExploitTrial>(&request)) {
        exploits_.push_back(*exploit);
        if (refuses_exploits) continue;
        Trial& trial = *context_.find_mutable(exploit->target);
        const bool was_running = trial.state() == TrialState::running;
        trial.set_config(exploit->config);
        trial.set_incarnation(trial.incarnation() + 1);
        if (was_running) context_.set_state(exploit->target, TrialState::running);
      } else if (const auto* horizon = std::get_if<DecisionHorizon>(&request)) {
        horizons_[horizon->trial.value()] = horizon->time;
      } else if (const auto* explanation = std::get_if<Explanation>(&request)) {
        explanations_[explanation->trial.value()] = explanation->reason;
      }
    }
  }

  std::unique_ptr<TrialScheduler> scheduler_;
  SchedulerContext context_;
  std::vector<ExploitTrial> exploits_;
  std::map<std::uint64_t, double> horizons_;
  std::map<std::uint64_t, std::string> explanations_;
};

}  // namespace tune::test
