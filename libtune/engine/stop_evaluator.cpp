#include "stop_evaluator.hpp"

#include <cmath>
#include <utility>

#include "core/number_text.hpp"
#include "core/objective.hpp"

namespace tune::engine {
namespace {

// Two passes: exact enough for values that hardly differ.
template <class Range>
double standard_deviation(const Range& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

}  // namespace

StopEvaluator::StopEvaluator(StopCriteria criteria, const std::optional<Objective>& objective)
    : criteria_(std::move(criteria)) {
  for (const StopCriteria::Rule& rule : criteria_.rules()) {
    if (!std::holds_alternative<StopCriteria::Bound>(rule)) asks_at_each_result_ = true;
    Objective& looked_at = objectives_.emplace_back();
    if (const auto* trial = std::get_if<PlateauOptions>(&rule)) {
      looked_at.metric = core::metric_of(*trial, objective);
    } else if (const auto* experiment = std::get_if<ExperimentPlateauOptions>(&rule)) {
      looked_at = core::objective_of(*experiment, objective);
    }
  }
}

StopEvaluator::Verdict StopEvaluator::on_result(const Trial& trial, const Result& result) {
  Verdict verdict;
  const auto& rules = criteria_.rules();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    std::string reason;
    if (const auto* bound = std::get_if<StopCriteria::Bound>(&rules[i])) {
      if (meets_bound(result, bound->field, bound->bound, bound->below)) {
        reason = "stop criterion " + bound->field + (bound->below ? " <= " : " >= ") +
                 core::number_text(bound->bound);
      }
    } else if (const auto* predicate = std::get_if<StopCriteria::Predicate>(&rules[i])) {
      if (predicate->stop(trial, result)) reason = "stop criterion: predicate";
    } else if (const auto* plateau = std::get_if<PlateauOptions>(&rules[i])) {
      if (trial_has_settled(i, *plateau, trial, result)) reason = "stop criterion: plateau";
    } else if (const auto* all = std::get_if<ExperimentPlateauOptions>(&rules[i])) {
      if (experiment_has_settled(i, *all, trial, result)) {
        verdict.stop_experiment = "experiment plateau";
      }
    }
    if (verdict.stop_trial.empty()) verdict.stop_trial = reason;
  }
  return verdict;
}

bool StopEvaluator::trial_has_settled(std::size_t rule, const PlateauOptions& options,
                                      const Trial& trial, const Result& result) {
  const std::optional<double> value = result.number(objectives_[rule].metric);
  if (!value) return false;
  TrialPlateau& plateau = trial_plateaus_[trial.id()][rule];
  ++plateau.results;
  plateau.window.push_back(*value);
  if (std::cmp_greater(plateau.window.size(), options.num_results)) {
    plateau.window.erase(plateau.window.begin());
  }
  if (plateau.results < options.grace_period) return false;
  if (std::cmp_less(plateau.window.size(), options.num_results)) return false;
  // A window with NaN or infinity has no deviation below anything: it has not settled.
  return standard_deviation(plateau.window) < options.std;
}

bool StopEvaluator::experiment_has_settled(std::size_t rule,
                                           const ExperimentPlateauOptions& options,
                                           const Trial& trial, const Result& result) {
  const Objective& objective = objectives_[rule];
  const std::optional<double> value = result.number(objective.metric);
  if (!value) return false;
  ExperimentPlateau& plateau = experiment_plateaus_[rule];
  if (std::isfinite(*value)) {
    const double rank = objective.mode == Mode::min ? *value : -*value;
    const auto [entry, is_new] = plateau.best.try_emplace(trial.id(), rank);
    if (is_new || rank < entry->second) {
      if (!is_new) plateau.all.erase({entry->second, trial.id()});
      entry->second = rank;
      plateau.all.insert({rank, trial.id()});
    }
  }
  if (std::cmp_less(plateau.all.size(), options.top)) return false;
  std::vector<double> top;
  for (auto best = plateau.all.begin(); std::cmp_less(top.size(), options.top); ++best) {
    top.push_back(best->first);
  }
  plateau.settled = standard_deviation(top) <= options.std ? plateau.settled + 1 : 0;
  return plateau.settled > options.patience;
}

void StopEvaluator::on_trial_ended(TrialId id) { trial_plateaus_.erase(id); }

void StopEvaluator::add_bounds(Horizon& horizon) const {
  if (asks_at_each_result_) {
    horizon.every_result = true;
    return;
  }
  for (const StopCriteria::Rule& rule : criteria_.rules()) {
    const auto& bound = std::get<StopCriteria::Bound>(rule);
    // Nothing else can be decided then: the criteria ask nobody.
    horizon.bounds.push_back({bound.field, bound.bound, bound.below, /*ends=*/true});
  }
}

}  // namespace tune::engine
