#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tune/objective.hpp>
#include <tune/stop.hpp>

#include "engine/horizon.hpp"

namespace tune::engine {

/// Asks the stop criteria about each result, and keeps what plateaus need to remember.
class StopEvaluator {
 public:
  struct Verdict {
    std::string stop_trial;       ///< Why the trial stops; empty if it does not.
    std::string stop_experiment;  ///< Why the experiment ends; empty if it does not.
  };

  /// @throws std::invalid_argument if a plateau has no metric to look at, or no mode for it.
  StopEvaluator(StopCriteria criteria, const std::optional<Objective>& objective);

  /// @throws whatever a predicate of the user throws.
  [[nodiscard]] Verdict on_result(const Trial& trial, const Result& result);
  void on_trial_ended(TrialId id);
  /// Adds the results at which a criterion could stop a trial.
  void add_bounds(Horizon& horizon) const;

 private:
  struct TrialPlateau {
    std::vector<double> window;  // the last values, oldest first
    std::int64_t results = 0;
  };
  struct ExperimentPlateau {
    std::map<TrialId, double> best;            // of each trial
    std::set<std::pair<double, TrialId>> all;  // the same, best first (negated to maximise)
    std::int64_t settled = 0;
  };

  bool trial_has_settled(std::size_t rule, const PlateauOptions& options, const Trial& trial,
                         const Result& result);
  bool experiment_has_settled(std::size_t rule, const ExperimentPlateauOptions& options,
                              const Trial& trial, const Result& result);

  StopCriteria criteria_;
  std::vector<Objective> objectives_;  // by rule, of plateaus; a trial's has no use for the mode
  bool asks_at_each_result_ = false;
  std::map<TrialId, std::map<std::size_t, TrialPlateau>> trial_plateaus_;  // by rule
  std::map<std::size_t, ExperimentPlateau> experiment_plateaus_;           // by rule
};

}  // namespace tune::engine
