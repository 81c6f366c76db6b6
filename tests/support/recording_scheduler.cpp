#include "support/recording_scheduler.hpp"

#include <cstddef>
#include <set>
#include <utility>

namespace tune::test {

template <class Function>
auto RecordingScheduler::call(Call call, SchedulerContext& context, Function function) {
  if (inside_) faults_.push_back("the scheduler is called within a call");
  inside_ = true;
  const std::size_t before = context.request_count();  // of calls before, yet to be carried out
  const auto leave = [&] {
    inside_ = false;
    call.requests = context.take_requests_from(before);
    context.put_requests(call.requests);
    calls_.push_back(call);
  };
  try {
    if constexpr (std::is_void_v<decltype(function(call))>) {
      function(call);
      leave();
    } else {
      auto answer = function(call);
      leave();
      return answer;
    }
  } catch (...) {
    call.threw = true;
    leave();
    throw;
  }
}

void RecordingScheduler::fault(TrialId trial, const std::string& text) {
  faults_.push_back("scheduler, trial " + std::to_string(trial.value()) + ": " + text);
}

void RecordingScheduler::check_live(const SchedulerContext& context, const Trial& trial,
                                    const std::string& what) {
  const auto seen = seen_.find(trial.id());
  if (seen == seen_.end()) fault(trial.id(), what + " before it was added");
  if (seen != seen_.end() && seen->second.ended) fault(trial.id(), what + " after its end");
  if (context.find(trial.id()) == nullptr) fault(trial.id(), what + ", not among the live trials");
}

void RecordingScheduler::check_pending(const SchedulerContext& context) {
  std::set<TrialId> pending;
  for (const auto& [id, trial] : context.live_trials()) {
    const bool is_pending = trial.state() == TrialState::pending;
    if (is_pending && !trial.waits_for_retry()) pending.insert(id);
  }
  // One that was chosen and has no node is passed over.
  std::set<TrialId> choosable = context.pending_trials();
  for (const Call& call : calls_) {
    if (call.chosen && pending.contains(*call.chosen)) choosable.insert(*call.chosen);
  }
  if (choosable != pending) {
    faults_.emplace_back("the context keeps other trials as pending than those that are");
  }
}

Decision RecordingScheduler::on_trial_result(SchedulerContext& context, const Trial& trial,
                                             const Result& result) {
  check_live(context, trial, "a result");
  std::vector<std::int64_t>& told = seen_[trial.id()].told;
  if (!told.empty() && result.training_iteration <= told.back()) {
    fault(trial.id(), "iteration " + std::to_string(result.training_iteration) + " told after " +
                          std::to_string(told.back()));
  }
  told.push_back(result.training_iteration);
  Call record{.kind = Kind::result,
              .trial = trial.id(),
              .iteration = result.training_iteration,
              .target = result.target()};
  return call(record, context, [&](Call& c) {
    c.answer = inner_->on_trial_result(context, trial, result);
    return c.answer;
  });
}

void RecordingScheduler::on_trial_added(SchedulerContext& context, const Trial& trial) {
  if (!seen_.emplace(trial.id(), Seen{}).second) fault(trial.id(), "added twice");
  check_live(context, trial, "added");
  call({.kind = Kind::added, .trial = trial.id()}, context,
       [&](Call&) { inner_->on_trial_added(context, trial); });
}

void RecordingScheduler::on_trial_completed(SchedulerContext& context, const Trial& trial,
                                            const Result& last) {
  if (seen_[trial.id()].ended) fault(trial.id(), "completed after its end");
  seen_[trial.id()].ended = true;
  call({.kind = Kind::completed,
        .trial = trial.id(),
        .iteration = last.training_iteration,
        .target = last.target()},
       context, [&](Call&) { inner_->on_trial_completed(context, trial, last); });
}

void RecordingScheduler::on_trial_failed(SchedulerContext& context, const Trial& trial) {
  if (seen_[trial.id()].ended) fault(trial.id(), "failed after its end");
  seen_[trial.id()].ended = true;
  call({.kind = Kind::failed, .trial = trial.id()}, context,
       [&](Call&) { inner_->on_trial_failed(context, trial); });
}

std::optional<TrialId> RecordingScheduler::choose_trial_to_run(SchedulerContext& context) {
  return call({.kind = Kind::choose}, context, [&](Call& c) {
    check_pending(context);
    c.chosen = inner_->choose_trial_to_run(context);
    const Trial* trial = c.chosen ? context.find(*c.chosen) : nullptr;
    if (trial != nullptr) c.state_of_chosen = trial->state();
    return c.chosen;
  });
}

std::vector<RecordingScheduler::Call> RecordingScheduler::take_calls() {
  return std::exchange(calls_, {});
}

const std::vector<std::int64_t>& RecordingScheduler::told(TrialId trial) const {
  static const std::vector<std::int64_t> none;
  const auto seen = seen_.find(trial);
  return seen == seen_.end() ? none : seen->second.told;
}

}  // namespace tune::test
