#include <tune/tune_run.hpp>

#include <algorithm>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/number_text.hpp"
#include "given_overrides.hpp"
#include "plugin_loader.hpp"
#include "program_function.hpp"
#include "runtime/experiment_setup.hpp"
#include "runtime/run_experiment.hpp"

namespace tune {
namespace {

std::string what_is_named(const std::string& name) {
  return name.empty() ? "an experiment without a name" : "experiment " + core::value_text(name);
}

/// A name from the command line is that of one experiment of the program: a second one, which the
/// program names otherwise or not at all, would be taken for the first when it goes on.
void refuse_second_of_given_name(const Experiment& experiment,
                                 const std::vector<runtime::Override>& overrides) {
  const auto given = std::find_if(overrides.begin(), overrides.end(), [](const auto& override) {
    return override.option == "--tune-name";
  });
  if (given == overrides.end()) return;
  static std::mutex mutex;
  static std::optional<std::string> first;  // the program's name for it
  const std::lock_guard lock(mutex);
  if (!first) {
    first = experiment.name;
    return;
  }
  // An object that ran before has kept the name that it was given.
  if (experiment.name == given->value || (!first->empty() && *first == experiment.name)) return;
  throw std::invalid_argument("--tune-name=" + given->value + " names one experiment, and this " +
                              "program runs several: " + what_is_named(*first) + " has it, and " +
                              what_is_named(experiment.name) + " cannot have it, too");
}

}  // namespace

ExperimentError::~ExperimentError() = default;

ResultGrid tune_run(const TrainableSpec& trainable, Experiment& experiment) {
  refuse_second_of_given_name(experiment, runtime::given_overrides());
  return runtime::run_experiment(
      runtime::set_up(trainable, experiment, runtime::given_overrides()));
}

ResultGrid tune_run(const std::string& name, Experiment& experiment) {
  runtime::load_plugins(experiment.plugins);  // the name may be of one of them
  return tune_run(find_trainable(name), experiment);
}

ResultGrid tune_run(void (*function)(const Config&), Experiment& experiment) {
  TrainableSpec spec = find_function(function);
  if (spec.key.empty()) spec.key = runtime::program_function_key(function);
  return tune_run(spec, experiment);
}

}  // namespace tune
