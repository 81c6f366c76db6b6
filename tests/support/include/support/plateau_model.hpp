#pragma once

#include <map>
#include <string>
#include <vector>

#include <tune/ids.hpp>
#include <tune/objective.hpp>
#include <tune/result.hpp>
#include <tune/stop.hpp>

namespace tune::test {

/// What is certain about a thing that is followed from outside.
enum class Certainty { no, maybe, yes };

/// The two kinds of plateau as <tune/stop.hpp> defines them, from all results that they judged.
/// Slow and plain. `maybe` where the definition leaves it open (whether a result without the metric
/// breaks a row) or rounding decides.
class PlateauModel {
 public:
  PlateauModel(const StopCriteria& stop, const std::optional<Objective>& objective);

  struct Verdict {
    Certainty stop_trial = Certainty::no;
    Certainty stop_experiment = Certainty::no;
  };
  /// The next result that is judged.
  Verdict judge(TrialId id, const Result& result);
  /// It is not known whether a result of this trial was judged: all is open from now on.
  void lose_track() { is_lost_ = true; }

 private:
  struct Row {
    std::int64_t with_metric = 0;  // settled results in a row, those without the metric passed over
    std::int64_t of_all = 0;       // the same, all counted
  };
  [[nodiscard]] Certainty judge_trial(const PlateauOptions& options, TrialId id) const;
  [[nodiscard]] Certainty judge_experiment(const ExperimentPlateauOptions& options, Row& row,
                                           const Result& result) const;
  /// Values of that metric, in order; those of one trial.
  [[nodiscard]] std::vector<double> values(TrialId id, const std::string& metric) const;

  StopCriteria stop_;
  std::optional<Objective> objective_;
  std::map<TrialId, std::vector<Result>> results_;
  std::map<std::size_t, Row> rows_;  // by rule
  bool is_lost_ = false;
};

}  // namespace tune::test
