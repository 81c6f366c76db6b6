#include "core/objective.hpp"

#include <stdexcept>

#include "core/number_text.hpp"

namespace tune::core {
namespace {

std::string plateau_metric(const std::string& own, const std::optional<Objective>& experiment) {
  if (!own.empty()) return own;
  if (experiment) return experiment->metric;
  throw std::invalid_argument(
      "stop: a plateau needs a metric: name one in its options or in the experiment");
}

}  // namespace

std::optional<Objective> resolve(const std::optional<Objective>& own,
                                 const std::optional<Objective>& experiment) {
  if (!own) return experiment;
  if (!own->metric.empty()) return own;
  return experiment ? std::optional<Objective>({experiment->metric, own->mode}) : std::nullopt;
}

std::string metric_of(const PlateauOptions& options, const std::optional<Objective>& experiment) {
  return plateau_metric(options.metric, experiment);
}

Objective objective_of(const ExperimentPlateauOptions& options,
                       const std::optional<Objective>& experiment) {
  const std::string metric = plateau_metric(options.metric, experiment);
  const bool is_experiments = experiment && experiment->metric == metric;
  if (!is_experiments && !options.mode) {
    throw std::invalid_argument("stop: experiment_plateau looks at " + value_text(metric) +
                                ", for which it needs a mode of its own: set mode to "
                                "tune::Mode::min or tune::Mode::max");
  }
  const Mode mode = options.mode ? *options.mode : experiment->mode;
  if (is_experiments && mode != experiment->mode) {
    throw std::invalid_argument("stop: experiment_plateau has metric " + value_text(metric) +
                                " with mode " + std::string(to_string(mode)) +
                                ", but the experiment has it with mode " +
                                std::string(to_string(experiment->mode)));
  }
  return {metric, mode};
}

}  // namespace tune::core
