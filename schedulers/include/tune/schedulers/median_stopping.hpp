#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <tune/scheduler.hpp>

namespace tune {

struct MedianStoppingOptions {
  std::string time_attr = "time_total_s";  ///< Measures progress; must grow.
  std::string metric = {};                 ///< Default: the experiment's.
  std::optional<Mode> mode = {};           ///< Required with a metric of its own.
  /// No trial is stopped before, and results before do not enter the averages. At least 0.
  double grace_period = 60;
  std::int64_t min_samples_required = 3;  ///< Other trials that must have a value; at least 1.
  /// Above 0: a trial that has too few others to be compared with gives way after so long, if
  /// others wait. At least 0; 0: it never gives way.
  double min_time_slice = 0;
  bool hard_stop = true;  ///< False: pause instead, and run those again when nothing else can run.
};

/// Makes the scheduler with the median stopping rule.
///
/// Golovin et al., "Google Vizier: A Service for Black-Box Optimization", KDD 2017, section 3.2.2:
/// a trial is stopped at step s if its best value so far is strictly worse than the median of the
/// running averages of the others up to step s. Departures:
/// - Running trials count too, not only completed ones; so do stopped and failed ones, up to where
///   they came. An other counts if it has reported at s or later.
/// - Results before `grace_period` do not enter the averages, so that an early spike spoils none.
///   They do count for a trial's best value.
/// - Steps are whole numbers of `time_attr`: a result is compared with the averages up to the last
///   whole number. Above 512 there are 256 steps to each doubling, so the step may lie up to 0.4 %
///   before the result.
/// - Values that are not finite do not enter an average; a trial with no other has the worst.
/// The median of an even number is the mean of the two in the middle.
///
/// O(log n) for each step that a result passes; memory for a value a trial and step.
///
/// With `hard_stop = false` a trial that would be stopped pauses, and runs to its end without
/// further judgement when no other can run. Pausing, and `min_time_slice`, need checkpoints.
/// @throws std::invalid_argument naming an option out of range.
[[nodiscard]] std::unique_ptr<TrialScheduler> median_stopping(
    const MedianStoppingOptions& options = {});

}  // namespace tune
