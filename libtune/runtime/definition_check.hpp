#pragma once

#include <tune/experiment.hpp>
#include <tune/trainable.hpp>

#include "engine/definition.hpp"

namespace tune::runtime {

using engine::check_checkpoint_options;
using engine::check_numbers;
using engine::name_in;
using engine::objective_of;

/// Refuses a definition that cannot work, as far as its fields and this program show it. Scheduler
/// and searcher are those that will serve: the defaults are filled in.
/// @throws std::invalid_argument naming the field, its value and what is allowed.
void check_definition(const TrainableSpec& trainable, const Experiment& experiment);

/// Refuses what this machine can never give. @throws std::invalid_argument naming what is missing.
void check_resources(const Experiment& experiment, const ResourceAmounts& capacity);

}  // namespace tune::runtime
