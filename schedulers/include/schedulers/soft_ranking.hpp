#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tune/ids.hpp>
#include <tune/json.hpp>
#include <tune/mode.hpp>
#include <tune/schedulers/pasha.hpp>

namespace tune::schedulers {

/// The results of a trial: time and value, in the order of time.
using LearningCurve = std::vector<std::pair<double, double>>;

[[nodiscard]] Json saved_curve(const LearningCurve& curve);
[[nodiscard]] LearningCurve restored_curve(const Json& json);

/// A trial that has come to the top rung.
struct RankedTrial {
  TrialId id;
  double below = 0;  ///< Its value in the rung below.
  double top = 0;    ///< Its value in the top rung.
  LearningCurve curve;
};

/// How far apart two curves are at the last time that they share, if they criss-cross: their order
/// there was the other way round before, and the same again before that. Empty otherwise, and
/// where one of the two values is not finite. Only times that both have count; O(results).
[[nodiscard]] std::optional<double> criss_cross_distance(const LearningCurve& a,
                                                         const LearningCurve& b, Mode mode);
/// The percentile `percent` with linear interpolation between neighbours. @pre not empty
[[nodiscard]] double percentile(std::vector<double> values, double percent);

/// Whether the two highest rungs rank trials alike, up to differences of epsilon in the lower one.
class SoftRanking {
 public:
  SoftRanking(const PashaOptions& options, Mode mode) : options_(options), mode_(mode) {}

  /// Ranks a trial; of more than `ranked_trials` the worst in the top rung is dropped.
  void enter(RankedTrial trial);
  /// What makes the ranking unstable, for people; empty if it is stable.
  [[nodiscard]] std::string instability() const;
  [[nodiscard]] double epsilon() const;
  [[nodiscard]] std::size_t size() const { return trials_.size(); }
  /// For two other rungs. The estimated epsilon holds until there is a new one.
  void begin_anew();

  [[nodiscard]] Json save() const;
  void restore(const Json& state);

 private:
  void add_distances(const RankedTrial& trial);
  void drop_worst();
  [[nodiscard]] bool is_better_on_top(const RankedTrial& a, const RankedTrial& b) const;
  [[nodiscard]] std::vector<const RankedTrial*> sorted_by(double RankedTrial::*value) const;
  [[nodiscard]] std::vector<double> values_below() const;

  PashaOptions options_;
  Mode mode_;
  std::vector<RankedTrial> trials_;                          // in the order of their coming
  std::map<std::pair<TrialId, TrialId>, double> distances_;  // of the pairs that criss-cross
  double estimate_ = 0;
};

}  // namespace tune::schedulers
