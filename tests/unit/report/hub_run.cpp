#include "hub_run.hpp"

#include <utility>

namespace tune::test {

HubRun::HubRun(const std::vector<std::string>& exporters,
               std::vector<std::shared_ptr<Callback>> callbacks, std::optional<Objective> objective)
    : hub_(exporters, std::move(callbacks)) {
  ExperimentInfo experiment;
  experiment.name = "experiment";
  experiment.path = path();
  experiment.experiment_id = "e1d2";
  experiment.objective = std::move(objective);
  experiment.seed = UINT64_MAX;
  experiment.definition = {{"trainable", "Mlp"}};
  hub_.experiment_started(experiment);
}

std::filesystem::path HubRun::trial_path(std::uint64_t trial) const {
  return path() / trial_directory_name(TrialId(trial), trials_.at(trial).config);
}

void HubRun::run(std::uint64_t trial, const Json& config) {
  add(trial, config);
  start(trial);
}

void HubRun::add(std::uint64_t trial, const Json& config) {
  const TrialId id(trial);
  trials_[trial].config = Config(config);
  hub_.trial_added(id, trial_directory_name(id, Config(config)), Config(config));
}

void HubRun::start(std::uint64_t trial, std::int64_t start_iteration) {
  Trial& known = trials_.at(trial);
  TrialInfo info;
  info.id = TrialId(trial);
  info.name = trial_directory_name(info.id, known.config);
  info.config = known.config;
  info.incarnation = ++known.incarnation;
  info.start_iteration = start_iteration;
  info.node = "localhost";
  known.iteration = start_iteration;
  hub_.trial_started(info);
}

void HubRun::report(std::uint64_t trial, Metrics metrics) {
  report_at(trial, trials_.at(trial).iteration + 1, std::move(metrics));
}

void HubRun::report_at(std::uint64_t trial, std::int64_t iteration, Metrics metrics) {
  Trial& known = trials_.at(trial);
  known.iteration = iteration;
  hub_.result(TrialId(trial), known.incarnation, make_result(iteration, std::move(metrics)));
}

void HubRun::checkpoint(std::uint64_t trial, std::int64_t iteration) {
  hub_.checkpoint_stored(TrialId(trial), trials_.at(trial).incarnation,
                         "checkpoint_00000" + std::to_string(iteration), iteration);
}

void HubRun::state(std::uint64_t trial, TrialState state, const std::string& reason,
                   const std::string& error) {
  hub_.trial_state(TrialId(trial), trials_.at(trial).incarnation, state, reason, error);
}

void HubRun::end(const ExperimentEnd& end) { hub_.experiment_ended(end); }

}  // namespace tune::test
