#include <tune/tune_run.hpp>

#include "given_overrides.hpp"
#include "program_function.hpp"
#include "runtime/experiment_setup.hpp"
#include "runtime/run_experiment.hpp"

namespace tune {

ExperimentError::~ExperimentError() = default;

ResultGrid tune_run(const TrainableSpec& trainable, Experiment& experiment) {
  return runtime::run_experiment(
      runtime::set_up(trainable, experiment, runtime::given_overrides()));
}

ResultGrid tune_run(const std::string& name, Experiment& experiment) {
  return tune_run(find_trainable(name), experiment);
}

ResultGrid tune_run(void (*function)(const Config&), Experiment& experiment) {
  TrainableSpec spec = find_function(function);
  if (spec.key.empty()) spec.key = runtime::program_function_key(function);
  return tune_run(spec, experiment);
}

}  // namespace tune
