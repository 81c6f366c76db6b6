#pragma once

#include <optional>
#include <string>

#include <tune/checkpoint.hpp>
#include <tune/experiment.hpp>
#include <tune/objective.hpp>
#include <tune/trainable.hpp>

namespace tune::runtime {

/// The experiment's objective; empty without a metric.
[[nodiscard]] std::optional<Objective> objective_of(const Experiment& experiment);

/// The name in options(), for messages.
[[nodiscard]] std::string name_in(const Json& options);

/// Refuses a definition that cannot work, as far as its fields alone show it. Scheduler and
/// searcher are those that will serve: the defaults are filled in.
/// @throws std::invalid_argument naming the field, its value and what is allowed.
void check_definition(const TrainableSpec& trainable, const Experiment& experiment);

/// The part of check_definition() that looks at each number by itself.
/// @throws std::invalid_argument as check_definition().
void check_numbers(const Experiment& experiment);

/// @throws std::invalid_argument as check_definition().
void check_checkpoint_options(const CheckpointOptions& options);

/// Refuses what this machine can never give. @throws std::invalid_argument naming what is missing.
void check_resources(const Experiment& experiment, const ResourceAmounts& capacity);

}  // namespace tune::runtime
