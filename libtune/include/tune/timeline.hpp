#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <tune/ids.hpp>
#include <tune/mode.hpp>

namespace tune {

/// How a simulated experiment went, over its time.
struct Timeline {
  /// Means over one interval.
  struct Sample {
    double begin_s = 0;      ///< The interval is as long as all others, but for the last.
    double utilisation = 0;  ///< The share of the cluster that was in use, lost nodes included.
    double running = 0;      ///< Trials.
    double queue = 0;        ///< Trials that wait for a slot.
    double paused = 0;       ///< Trials that wait for a decision.
  };
  /// A value of the experiment's metric that was the best so far.
  struct Incumbent {
    double time_s = 0;
    TrialId trial;
    std::int64_t training_iteration = 0;
    double value = 0;
  };

  Mode mode = Mode::min;  ///< Of the metric.
  double end_s = 0;       ///< When the experiment ended.
  double interval_s = 0;
  std::vector<Sample> samples;        ///< At most 1,024, however long it took.
  std::vector<Incumbent> incumbents;  ///< All of them, each better than the one before.

  /// Of the whole time.
  [[nodiscard]] double mean_utilisation() const;
  /// The best value up to a time; empty before the first.
  [[nodiscard]] std::optional<double> incumbent_at(double time_s) const;
  /// When the first value at least as good as `value` came; empty if none did.
  [[nodiscard]] std::optional<double> time_to(double value) const;

  /// A row a sample: time_s, utilisation, running, queue, paused, and the incumbent at the
  /// interval's end (an empty field before the first).
  void write_csv(std::ostream& out) const;
  /// Three small charts one below the other, for light and dark pages.
  void write_svg(std::ostream& out) const;
};

}  // namespace tune
