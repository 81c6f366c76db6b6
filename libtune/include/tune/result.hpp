#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include <tune/metrics.hpp>

namespace tune {

/// What one training iteration of a trial reported, with the automatic fields.
class Result {
 public:
  Result() = default;
  /// A result with only a target value, as tests of schedulers need it.
  explicit Result(double target, std::int64_t training_iteration = 1)
      : training_iteration(training_iteration), target_(target) {}

  Metrics metrics;  ///< What the training code reported, reserved names removed.
  std::int64_t training_iteration = 0;  ///< Counts from 1; goes on over restarts.
  double time_this_iter_s = 0;          ///< Seconds that this iteration took.
  double time_total_s = 0;              ///< Seconds of training so far; goes on over restarts.
  double timestamp = 0;                 ///< Wall clock when it was reported, seconds since 1970.
  bool done = false;  ///< Reported, or the decision on this result ended the trial.
  /// Only where a searcher is told of a completed trial: the scheduler ended it.
  bool stopped_by_scheduler = false;

  /// The metric that the one who looks at it optimises; NaN if the result does not have it.
  [[nodiscard]] double target() const { return target_; }
  void set_target(double target) { target_ = target; }

  /// A numeric field by name: an automatic one (`training_iteration`, `time_this_iter_s`,
  /// `time_total_s`, `timestamp`) or a metric; empty if absent or text.
  [[nodiscard]] std::optional<double> number(std::string_view field) const;

 private:
  double target_ = std::numeric_limits<double>::quiet_NaN();
};

/// True for names that the framework fills itself, and for what is nested below one
/// ("config/lr"); `done` is not among them.
[[nodiscard]] bool is_reserved_field(std::string_view name);

}  // namespace tune
