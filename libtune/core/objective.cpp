#include "core/objective.hpp"

#include <stdexcept>

#include "core/number_text.hpp"

namespace tune::core {
namespace {

constexpr const char* plateau_without_metric =
    "stop: a plateau needs a metric: name one in its options or in the experiment";

}  // namespace

std::optional<Objective> resolve(const std::optional<Objective>& own,
                                 const std::optional<Objective>& experiment) {
  if (!own) return experiment;
  if (!own->metric.empty()) return own;
  return experiment ? std::optional<Objective>({experiment->metric, own->mode}) : std::nullopt;
}

std::string metric_of(const PlateauOptions& options, const std::optional<Objective>& experiment) {
  if (!options.metric.empty()) return options.metric;
  if (experiment) return experiment->metric;
  throw std::invalid_argument(plateau_without_metric);
}

Objective own_objective(const OwnObjective& own, const std::optional<Objective>& experiment) {
  if (own.metric.empty() && !experiment) throw std::invalid_argument(own.fault_without_metric);
  const std::string metric = own.metric.empty() ? experiment->metric : own.metric;
  const bool is_experiments = experiment && experiment->metric == metric;
  if (!is_experiments && !own.mode) {
    throw std::invalid_argument(own.who + " looks at " + value_text(metric) +
                                ", for which it needs a mode of its own: set mode to "
                                "tune::Mode::min or tune::Mode::max");
  }
  const Mode mode = own.mode ? *own.mode : experiment->mode;
  if (is_experiments && mode != experiment->mode) {
    throw std::invalid_argument(own.who + " has metric " + value_text(metric) + " with mode " +
                                std::string(to_string(mode)) +
                                ", but the experiment has it with mode " +
                                std::string(to_string(experiment->mode)));
  }
  return {metric, mode};
}

Objective objective_of(const ExperimentPlateauOptions& options,
                       const std::optional<Objective>& experiment) {
  return own_objective({.who = "stop: experiment_plateau",
                        .fault_without_metric = plateau_without_metric,
                        .metric = options.metric,
                        .mode = options.mode},
                       experiment);
}

}  // namespace tune::core
