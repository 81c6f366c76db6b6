#pragma once

#include <optional>
#include <string>

#include <tune/objective.hpp>
#include <tune/stop.hpp>

namespace tune::core {

/// The objective of a scheduler or searcher: its own, in which an empty metric means the
/// experiment's, else the experiment's. Empty if there is no metric.
[[nodiscard]] std::optional<Objective> resolve(const std::optional<Objective>& own,
                                               const std::optional<Objective>& experiment);

/// What somebody who ranks by a metric was given: both may be empty.
struct OwnObjective {
  std::string who;                   ///< Begins its errors.
  std::string fault_without_metric;  ///< What is thrown where nobody names a metric.
  std::string metric;                ///< Empty: the experiment's.
  std::optional<Mode> mode;          ///< Empty: the experiment's, of its own metric.
};
/// @throws std::invalid_argument if there is no metric, if the mode of its own metric is not given,
/// and if that of the experiment's metric is another there.
[[nodiscard]] Objective own_objective(const OwnObjective& own,
                                      const std::optional<Objective>& experiment);

/// The metric that a plateau looks at.
/// @throws std::invalid_argument if neither it nor the experiment names one.
[[nodiscard]] std::string metric_of(const PlateauOptions& options,
                                    const std::optional<Objective>& experiment);
/// The metric by which an experiment's plateau ranks, and its direction.
/// @throws std::invalid_argument if there is no metric, if the mode of its own metric is not given,
/// and if that of the experiment's metric is another there.
[[nodiscard]] Objective objective_of(const ExperimentPlateauOptions& options,
                                     const std::optional<Objective>& experiment);

}  // namespace tune::core
