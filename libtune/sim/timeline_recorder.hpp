#pragma once

#include <cstddef>
#include <optional>

#include <tune/objective.hpp>
#include <tune/result.hpp>
#include <tune/timeline.hpp>

namespace tune::sim {

/// Turns what changes at points in time into a Timeline of bounded size.
///
/// Intervals are of one length; once there would be too many, two neighbours become one.
class TimelineRecorder {
 public:
  static constexpr std::size_t max_samples = 1024;

  /// What holds until the next change.
  struct State {
    double utilisation = 0;
    double running = 0;
    double queue = 0;
    double paused = 0;
    friend bool operator==(const State&, const State&) = default;
  };

  explicit TimelineRecorder(std::optional<Objective> objective);

  /// From now on `state` holds. Time never goes back.
  void change(double now_s, const State& state);
  void see(double now_s, TrialId trial, const Result& result);
  [[nodiscard]] Timeline finish(double now_s);

 private:
  void advance(double now_s);
  void add(double seconds);
  void halve();

  std::optional<Objective> objective_;
  Timeline timeline_;
  State state_;
  Timeline::Sample sums_;  // of the interval that is open: values times seconds
  double summed_until_ = 0;
};

}  // namespace tune::sim
