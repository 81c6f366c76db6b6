#pragma once

#include <tune/result_grid.hpp>

#include "runtime/experiment_setup.hpp"

namespace tune::runtime {

/// Runs an experiment to its end, on an actor system of its own. When it returns, no thread of it
/// is left but those of trials that were abandoned.
/// @throws ExperimentError if it was broken off.
[[nodiscard]] ResultGrid run_experiment(ExperimentSetup setup);

}  // namespace tune::runtime
