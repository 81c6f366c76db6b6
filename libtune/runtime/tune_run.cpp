#include <tune/tune_run.hpp>

#include "runtime/experiment_setup.hpp"
#include "runtime/run_experiment.hpp"

namespace tune {

ExperimentError::~ExperimentError() = default;

ResultGrid tune_run(const TrainableSpec& trainable, Experiment& experiment) {
  return runtime::run_experiment(runtime::set_up(trainable, experiment));
}

ResultGrid tune_run(const std::string& name, Experiment& experiment) {
  return tune_run(find_trainable(name), experiment);
}

ResultGrid tune_run(void (*function)(const Config&), Experiment& experiment) {
  return tune_run(find_function(function), experiment);
}

}  // namespace tune
