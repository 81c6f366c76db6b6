// tensorboard_files <directory>: writes an experiment of three trials for
// tensorboard_reader_test.py.

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <limits>
#include <string>

#include <tune/callback.hpp>
#include <tune/json.hpp>
#include <tune/trial.hpp>

#include "report/callback_hub.hpp"
#include "trial_files.hpp"

namespace tune {
namespace {

using test::make_result;

void start_trial(report::CallbackHub& hub, std::uint64_t number, const Json& config,
                 std::uint32_t incarnation = 1, std::int64_t start_iteration = 0) {
  TrialInfo trial;
  trial.id = TrialId(number);
  trial.name = "0000" + std::to_string(number);
  trial.config = Config(config);
  trial.incarnation = incarnation;
  trial.start_iteration = start_iteration;
  trial.node = "localhost";
  if (incarnation == 1) hub.trial_added(trial.id, trial.name, trial.config);
  hub.trial_started(trial);
}

// Every type of parameter and metric; ends well.
void write_first(report::CallbackHub& hub) {
  const TrialId id(0);
  start_trial(hub, 0,
              {{"layers", 3},
               {"nesterov", true},
               {"sizes", {1, 2}},
               {"none", nullptr},
               {"net", {{"depth", 4}}},
               {"lr", 0.1},
               {"optimizer", "sgd"}});
  hub.result(id, 1,
             make_result(1, {{"loss", 0.5}, {"note", "text"}, {"converged", false}, {"a/b", 1}}));
  hub.result(id, 1,
             make_result(2, {{"loss", std::numeric_limits<double>::infinity()},
                             {"converged", true},
                             {"huge", -1e300}}));
  hub.result(id, 1, make_result(3, {{"loss", std::numeric_limits<double>::quiet_NaN()}}));
  hub.trial_state(id, 1, TrialState::terminated, "trainable finished", "");
}

// Goes back from 5 to 2, and fails for good in the end.
void write_second(report::CallbackHub& hub) {
  const TrialId id(1);
  const Json config = {{"lr", 0.2}, {"optimizer", "adam"}, {"beta1", 0.9}};
  start_trial(hub, 1, config);
  for (int i = 1; i <= 5; ++i) hub.result(id, 1, make_result(i, {{"loss", i}}));
  hub.trial_state(id, 1, TrialState::pending, "", "it broke");
  hub.idle();
  start_trial(hub, 1, config, 2, 2);
  for (int i = 3; i <= 4; ++i) hub.result(id, 2, make_result(i, {{"loss", 10 * i}}));
  hub.trial_state(id, 2, TrialState::error, "", "it broke again");
}

// Still runs.
void write_third(report::CallbackHub& hub) {
  start_trial(hub, 2, {{"lr", 0.3}, {"optimizer", "sgd"}});
  hub.result(TrialId(2), 1, make_result(1, {{"loss", 7.0}}));
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: tensorboard_files <directory>\n";
    return 2;
  }
  tune::report::CallbackHub hub({"tensorboard"}, {});
  tune::ExperimentInfo experiment;
  experiment.name = "files";
  experiment.path = argv[1];
  hub.experiment_started(experiment);
  tune::write_first(hub);
  tune::write_second(hub);
  tune::write_third(hub);
  hub.idle();
  if (hub.storage_error()) {
    std::cerr << *hub.storage_error() << '\n';
    return 1;
  }
  return 0;
}
