#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <tune/scheduler.hpp>

namespace tune::test {

/// How often a RandomScheduler does what. All are chances a call, 0 to 1.
struct RandomSchedulerOptions {
  double stop = 0;        ///< Answer of on_trial_result.
  double pause = 0;       ///< Answer of on_trial_result.
  double promise = 0;     ///< no_decision_before, where a promise holds none.
  double stop_other = 0;  ///< The rest: asked of the context, for any trial, also an ended one.
  double pause_other = 0;
  double unpause = 0;
  double save = 0;
  double exploit = 0;
  double set_resources = 0;
  double hold = 0;          ///< In choose_trial_to_run.
  double choose = 0;        ///< In choose_trial_to_run: a random pending or paused trial.
  double choose_wrong = 0;  ///< There too: one that is running, ended or unknown.
  double throws = 0;        ///< In any call.
  std::string time_attr = "training_iteration";
  std::int64_t max_cpu = 2;  ///< For set_resources.
};

/// Makes a scheduler that decides by dice, but keeps its promises. Its dice are keyed as design.md
/// §5 says, so that one history of events has one history of decisions.
[[nodiscard]] std::unique_ptr<TrialScheduler> random_scheduler(
    const RandomSchedulerOptions& options);

}  // namespace tune::test
