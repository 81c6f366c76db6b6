#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tune/json.hpp>
#include <tune/objective.hpp>
#include <tune/result.hpp>
#include <tune/scheduler_context.hpp>
#include <tune/trial.hpp>

namespace tune {

/// What becomes of a trial after a result.
enum class Decision {
  proceed,  ///< Train on.
  pause,    ///< Save, give the slot back and wait for unpause() or choose_trial_to_run().
  stop,     ///< End it; it makes no further step.
};

/// "proceed", "pause" or "stop".
[[nodiscard]] std::string_view to_string(Decision decision);

/// Decides which trials run, pause, stop and take over from others.
///
/// All calls come from one thread, one at a time. Each result of a trial comes to on_trial_result,
/// in order, also inside a horizon (SchedulerContext::no_decision_before), where the answer must be
/// `proceed`. Then comes exactly once on_trial_completed (a stop by the scheduler included) or
/// exactly once on_trial_failed (the final error, not a retry). An exception ends the experiment.
/// A trial that ended may go on when the experiment is run another time with more to do: then it
/// comes to on_trial_added again, with its last_result() set. One that the experiment's time budget
/// stopped has not ended for the scheduler, which is told neither: given more time it goes on as
/// after an interrupt.
///
/// No clock, no thread and no unkeyed chance inside, so that one seed gives one history: time is
/// `context.now()`, chance is `context.random(id)`.
class TrialScheduler {
 public:
  virtual ~TrialScheduler();

  virtual Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                                   const Result& result) = 0;
  virtual void on_trial_added(SchedulerContext& context, const Trial& trial);
  /// `last` is the trial's last result; one with training_iteration 0 if it had none.
  virtual void on_trial_completed(SchedulerContext& context, const Trial& trial,
                                  const Result& last);
  virtual void on_trial_failed(SchedulerContext& context, const Trial& trial);
  /// The pending or paused trial that a free slot should run; none: a new trial is asked for.
  /// SchedulerContext::hold() leaves the slot free instead. Called only while a trial is pending or
  /// paused, or a new one can be asked for. Default: the first of
  /// SchedulerContext::pending_trials(). Of a trial for which no node that is there is big enough
  /// the next is asked for in its place; chosen again in spite of that it keeps the slots waiting.
  /// So does one that waits for its retry: choosing it holds the slot until it may start.
  virtual std::optional<TrialId> choose_trial_to_run(SchedulerContext& context);

  /// True if it pauses or clones, which a trainable without checkpoints cannot do.
  [[nodiscard]] virtual bool needs_checkpoints() const;
  /// The field that measures a trial's progress. Results whose value is NaN or did not
  /// grow are not told.
  [[nodiscard]] virtual std::string time_attr() const;
  /// Its own metric and mode; none: the experiment's. An empty metric means the experiment's.
  [[nodiscard]] virtual std::optional<Objective> objective() const;
  /// True if it needs a metric to decide by.
  [[nodiscard]] virtual bool needs_metric() const;
  /// All state. A null value (the default) means that it is rebuilt by replay of the events.
  [[nodiscard]] virtual Json save() const;
  virtual void restore(const Json& state);
  /// Name and options, for the recorded definition: `{"name": "asha", "max_t": 27, ...}`.
  [[nodiscard]] virtual Json options() const;
  /// One line for the progress display.
  [[nodiscard]] virtual std::string describe() const;
};

}  // namespace tune
