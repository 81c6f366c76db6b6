#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tune/scheduler.hpp>

namespace tune::test {

/// A scheduler that fills slots, without an engine, in virtual time: a slot that is free takes work
/// at once, saving and loading take no time, and a trial runs from where it is to its horizon in
/// one piece.
class SlotBench {
 public:
  /// The value that a trial has at that time.
  using Loss = std::function<double(std::uint64_t trial, double time)>;
  /// How long it takes from there to there, and whether the trial is lost on the way. `job` counts
  /// the pieces.
  struct Piece {
    double seconds = 0;
    bool is_lost = false;
    double overshoot = 0;  ///< Its next result comes this far behind the horizon.
  };
  using Work = std::function<Piece(std::uint64_t trial, double from, double to, std::uint64_t job)>;

  SlotBench(std::unique_ptr<TrialScheduler> scheduler, Loss loss, Work work)
      : scheduler_(std::move(scheduler)), loss_(std::move(loss)), work_(std::move(work)) {}

  /// A unit of progress takes a second, and each trial keeps its value.
  SlotBench(std::unique_ptr<TrialScheduler> scheduler, std::vector<double> values)
      : SlotBench(
            std::move(scheduler),
            [values](std::uint64_t trial, double) { return values.at(trial); },
            [](std::uint64_t, double from, double to, std::uint64_t) -> Piece {
              return {.seconds = to - from};
            }) {
    most_trials = values.size();
  }

  /// What a lost trial does: fails for good, or starts again from where it was (the default).
  bool lost_for_good = false;
  /// No more new trials than this.
  std::uint64_t most_trials = ~std::uint64_t{0};
  /// Called after every result; for a restore in between.
  std::function<void()> after_result = {};

  /// Runs until nothing goes on, or so many pieces have begun.
  void run(std::size_t slots, std::size_t most_pieces = 100'000) {
    for (std::size_t i = 0; i < slots && jobs.size() < most_pieces; ++i) start();
    while (!queue_.empty() && jobs.size() < most_pieces) {
      const Running running = queue_.top();
      queue_.pop();
      now_s = running.end_s;
      finish(running);
      // A slot that found nothing to do before may have something now.
      while (queue_.size() < slots && jobs.size() < most_pieces && start()) {
      }
    }
  }

  /// Puts another scheduler in place, that goes on from the state of this one as text.
  void restore_into(std::unique_ptr<TrialScheduler> scheduler) {
    scheduler->restore(Json::parse(scheduler_->save().dump()));
    scheduler_ = std::move(scheduler);
  }

  /// "trial:horizon" of each piece, in the order of their beginning, each with a space behind.
  [[nodiscard]] std::string text() const {
    std::string text;
    for (const auto& [trial, time] : jobs) {
      text += std::to_string(trial) + ":" + std::to_string(static_cast<std::int64_t>(time)) + " ";
    }
    return text;
  }
  [[nodiscard]] const TrialScheduler& scheduler() const { return *scheduler_; }
  [[nodiscard]] const SchedulerContext& context() const { return context_; }
  [[nodiscard]] std::string explanation(std::uint64_t trial) const {
    const auto found = explanations_.find(trial);
    return found == explanations_.end() ? "" : found->second;
  }

  std::vector<std::pair<std::uint64_t, double>> jobs;
  std::map<std::uint64_t, double> ended;  ///< The progress with which each that did not fail ended.
  double now_s = 0;

 private:
  struct Running {
    double end_s = 0;
    std::uint64_t order = 0;
    std::uint64_t trial = 0;
    double to = 0;
    bool is_lost = false;
    friend bool operator<(const Running& a, const Running& b) {
      return std::pair(a.end_s, a.order) > std::pair(b.end_s, b.order);  // the earliest on top
    }
  };

  bool start() {
    context_.set_new_trials(next_trial_ < most_trials ? NewTrials::possible : NewTrials::none);
    std::optional<TrialId> chosen = scheduler_->choose_trial_to_run(context_);
    const bool held = context_.take_hold();
    carry_out();
    if (!chosen) {
      if (held || next_trial_ >= most_trials) return false;
      chosen = TrialId{next_trial_++};
      scheduler_->on_trial_added(context_, context_.add(Trial(*chosen)));
      carry_out();
    }
    const std::uint64_t id = chosen->value();
    if (context_.find(*chosen)->state() == TrialState::running) {
      throw std::logic_error("trial " + std::to_string(id) + " is chosen while it runs");
    }
    context_.set_state(*chosen, TrialState::running);
    const double to = horizons_.at(id);
    const Piece piece = work_(id, times_[id], to, jobs.size());
    queue_.push({now_s + piece.seconds, jobs.size(), id, to + piece.overshoot, piece.is_lost});
    jobs.emplace_back(id, to);
    return true;
  }

  void finish(const Running& running) {
    const TrialId id{running.trial};
    if (running.is_lost && lost_for_good) {
      scheduler_->on_trial_failed(context_, *context_.find(id));
      carry_out();
      return context_.finish(id, {.state = TrialState::error});
    }
    context_.set_state(id, TrialState::pending);
    if (running.is_lost) return;
    const double time = std::ceil(running.to);  // progress comes in whole iterations
    times_[running.trial] = time;
    Trial& trial = *context_.find_mutable(id);
    const Result result(loss_(running.trial, time), static_cast<std::int64_t>(time));
    trial.add_result(result);
    const Decision decision = scheduler_->on_trial_result(context_, trial, result);
    if (decision == Decision::pause) context_.set_state(id, TrialState::paused);
    carry_out();
    if (decision == Decision::stop) complete(id);
    if (after_result) after_result();
  }

  void complete(TrialId id) {
    const Result last = context_.find(id)->last_result().value_or(Result());
    scheduler_->on_trial_completed(context_, *context_.find(id), last);
    carry_out();
    context_.finish(id, {.state = TrialState::terminated, .last_target = last.target()});
    ended[id.value()] = times_[id.value()];
  }

  void carry_out() {
    for (const SchedulerRequest& request : context_.take_requests()) {
      if (const auto* horizon = std::get_if<DecisionHorizon>(&request)) {
        horizons_[horizon->trial.value()] = horizon->time;
      } else if (const auto* explanation = std::get_if<Explanation>(&request)) {
        explanations_[explanation->trial.value()] = explanation->reason;
      } else if (const auto* unpause = std::get_if<UnpauseTrial>(&request)) {
        if (context_.find(unpause->trial)->state() == TrialState::paused) {
          context_.set_state(unpause->trial, TrialState::pending);
        }
      } else if (const auto* stop = std::get_if<StopTrial>(&request)) {
        complete(stop->trial);
      } else {
        throw std::logic_error("a request that this bench does not know");
      }
    }
  }

  std::unique_ptr<TrialScheduler> scheduler_;
  Loss loss_;
  Work work_;
  SchedulerContext context_{Mode::min};
  std::uint64_t next_trial_ = 0;
  std::priority_queue<Running> queue_;
  std::map<std::uint64_t, double> times_;
  std::map<std::uint64_t, double> horizons_;
  std::map<std::uint64_t, std::string> explanations_;
};

}  // namespace tune::test
