#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tune/scheduler.hpp>

namespace tune::test {

/// A scheduler under test, told of trials and results as the engine tells it.
///
/// Keeps what it asked for, and holds it to its promise: a decision inside a horizon that is not
/// `proceed` throws std::logic_error.
class SchedulerBench {
 public:
  SchedulerBench(std::unique_ptr<TrialScheduler> scheduler, Mode mode, std::uint64_t seed = 0)
      : scheduler_(std::move(scheduler)), context_(mode, seed) {}

  void add(std::uint64_t id) {
    const Trial& trial = context_.add(Trial(TrialId{id}));
    scheduler_->on_trial_added(context_, trial);
    take_requests();
  }

  /// Tells a result, of a new trial where `id` is not known; a stop completes the trial, a pause
  /// pauses it.
  Decision report(std::uint64_t id, double time, double value) {
    if (context_.find(TrialId{id}) == nullptr) add(id);
    context_.set_state(TrialId{id}, TrialState::running);
    Trial& trial = *context_.find_mutable(TrialId{id});
    const Result result = make_result(time, value);
    trial.add_result(result);
    const Decision decision = scheduler_->on_trial_result(context_, trial, result);
    if (decision != Decision::proceed && time < horizon(id)) {
      throw std::logic_error("trial " + std::to_string(id) + ": a decision before its horizon");
    }
    if (decision == Decision::pause) context_.set_state(TrialId{id}, TrialState::paused);
    take_requests();
    if (decision == Decision::stop) complete(id);
    return decision;
  }

  /// Offers a free slot; the trial that it goes to runs then.
  std::optional<std::uint64_t> choose() {
    const std::optional<TrialId> chosen = scheduler_->choose_trial_to_run(context_);
    take_requests();
    if (!chosen) return std::nullopt;
    context_.set_state(*chosen, TrialState::running);
    return chosen->value();
  }

  void complete(std::uint64_t id) {
    const Trial& trial = *context_.find(TrialId{id});
    const Result last = trial.last_result().value_or(Result());
    scheduler_->on_trial_completed(context_, trial, last);
    context_.finish(TrialId{id}, {.state = TrialState::terminated, .last_target = last.target()});
  }

  void fail(std::uint64_t id) {
    scheduler_->on_trial_failed(context_, *context_.find(TrialId{id}));
    context_.finish(TrialId{id}, {.state = TrialState::error});
  }

  /// Trains with a constant value, a step a result, until it is stopped; how many results it made.
  int train(std::uint64_t id, double value, int most_steps = 1000) {
    for (int step = 1; step <= most_steps; ++step) {
      if (report(id, step, value) == Decision::stop) return step;
    }
    return most_steps;
  }

  /// Puts another scheduler in place, that goes on from the state of this one as text.
  void restore_into(std::unique_ptr<TrialScheduler> scheduler) {
    scheduler->restore(Json::parse(scheduler_->save().dump()));
    scheduler_ = std::move(scheduler);
  }

  [[nodiscard]] const TrialScheduler& scheduler() const { return *scheduler_; }
  [[nodiscard]] bool is_live(std::uint64_t id) const {
    return context_.find(TrialId{id}) != nullptr;
  }
  /// The iteration of a live trial's last result; 0 if it had none.
  [[nodiscard]] int last_iteration(std::uint64_t id) const {
    const auto& last = context_.find(TrialId{id})->last_result();
    return last ? static_cast<int>(last->training_iteration) : 0;
  }
  /// What no_decision_before() last said; 0 if nothing.
  [[nodiscard]] double horizon(std::uint64_t id) const {
    const auto found = horizons_.find(id);
    return found == horizons_.end() ? 0 : found->second;
  }
  /// What explain() last said; empty if nothing.
  [[nodiscard]] std::string explanation(std::uint64_t id) const {
    const auto found = explanations_.find(id);
    return found == explanations_.end() ? "" : found->second;
  }
  /// Requests other than these two kinds, over all time.
  [[nodiscard]] std::size_t other_requests() const { return other_requests_; }

 private:
  [[nodiscard]] Result make_result(double time, double value) const {
    const std::string time_attr = scheduler_->time_attr();
    if (time_attr == "training_iteration") return Result(value, static_cast<std::int64_t>(time));
    Result result(value);
    result.metrics.set(time_attr, time);
    return result;
  }

  void take_requests() {
    for (const SchedulerRequest& request : context_.take_requests()) {
      if (const auto* horizon = std::get_if<DecisionHorizon>(&request)) {
        horizons_[horizon->trial.value()] = horizon->time;
      } else if (const auto* explanation = std::get_if<Explanation>(&request)) {
        explanations_[explanation->trial.value()] = explanation->reason;
      } else {
        const auto* unpause = std::get_if<UnpauseTrial>(&request);
        if (unpause != nullptr && context_.find(unpause->trial)->state() == TrialState::paused) {
          context_.set_state(unpause->trial, TrialState::pending);
        }
        ++other_requests_;
      }
    }
  }

  std::unique_ptr<TrialScheduler> scheduler_;
  SchedulerContext context_;
  std::map<std::uint64_t, double> horizons_;
  std::map<std::uint64_t, std::string> explanations_;
  std::size_t other_requests_ = 0;
};

}  // namespace tune::test
