#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tune/ids.hpp>
#include <tune/metrics.hpp>

#include "support/trial_behaviour.hpp"

namespace tune::test {

/// What happens instead of a step, a setup, a load or a save that works.
struct Incident {
  StepOutcome::Kind kind = StepOutcome::Kind::report;
  std::string message;
  std::vector<std::pair<std::string, std::optional<MetricValue>>> metrics;  ///< Empty: left out.
  bool done = false;
  bool always = false;  ///< Else at the first start that gets there.
};

/// The training code of a scenario: every trial reports `metric`, and `step` = its iteration.
struct TrainingScript {
  std::string metric = "score";
  std::int64_t length = 0;             ///< Trials return after so many iterations; 0: never.
  std::map<TrialId, double> constant;  ///< The metric; else it is the iteration.
  double step_seconds = 1;
  std::map<TrialId, double> seconds_of;
  std::map<std::pair<TrialId, std::int64_t>, Incident> steps;
  std::map<std::pair<TrialId, std::int64_t>, Incident> saves;
  std::map<TrialId, Incident> setups;
  std::map<TrialId, Incident> loads;
  std::set<TrialId> deaf;  ///< Never heed Stop or Pause.
};

[[nodiscard]] std::unique_ptr<TrialBehaviour> scripted_behaviour(TrainingScript script);

}  // namespace tune::test
