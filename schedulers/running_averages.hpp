#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include <tune/json.hpp>
#include <tune/mode.hpp>

#include "ranked_values.hpp"

namespace tune::schedulers {

/// The learning curve of one trial, as far as RunningAverages needs it.
class Curve {
 public:
  /// The mean of the finite values that count; NaN if there are none.
  [[nodiscard]] double average() const;
  /// The best finite value, of those before the grace period too; empty if none.
  [[nodiscard]] std::optional<double> best() const { return best_; }

  [[nodiscard]] Json save() const;
  void restore(const Json& state);

 private:
  friend class RunningAverages;

  double mean_ = 0;
  std::int64_t finite_ = 0;
  bool has_begun_ = false;  // a result of it counts
  std::optional<double> best_;
  double next_step_ = 0;             // the first that it has not entered
  std::optional<double> last_step_;  // the last one that it has
  double last_average_ = 0;          // what it entered there
};

/// The running averages of all trials at each step, ranked.
///
/// Steps are whole numbers up to 512; above there are 256 to each doubling, so that a trial whose
/// time jumps, or counts in millions, passes few of them. At a step stands the average of each
/// trial that has reported at it or later, of its results up to there.
class RunningAverages {
 public:
  /// Times before `grace_period` do not count. @pre `grace_period >= 0`
  RunningAverages(Mode mode, double grace_period) : mode_(mode), grace_period_(grace_period) {}

  /// The last step up to `time`. @pre `time >= 0`
  [[nodiscard]] static double step_at(double time);

  /// Adds the next result of a trial. O(log n) for each step that it passes.
  void add(Curve& curve, double time, double value);
  /// How many trials other than that of `curve` stand at `step`.
  [[nodiscard]] std::size_t count_others(const Curve& curve, double step) const;
  /// The median of their averages there. @pre there are some
  [[nodiscard]] double median_of_others(const Curve& curve, double step) const;

  [[nodiscard]] Mode mode() const { return mode_; }
  [[nodiscard]] Json save() const;
  void restore(const Json& state);

 private:
  [[nodiscard]] static double next_step(double step);
  void enter(Curve& curve, double step);

  Mode mode_;
  double grace_period_;
  std::map<double, RankedValues> steps_;
};

}  // namespace tune::schedulers
