#include "hub_run.hpp"

#include <utility>

namespace tune::test {
namespace {

std::string checkpoint_name(std::int64_t iteration) {
  const std::string digits = std::to_string(iteration);
  return "checkpoint_" + std::string(6 - digits.size(), '0') + digits;
}

}  // namespace

HubRun::HubRun(std::vector<std::string> exporters, Callbacks callbacks,
               std::optional<Objective> objective)
    : exporters_(std::move(exporters)) {
  experiment_.name = "experiment";
  experiment_.path = folder_.path() / "experiment";
  experiment_.experiment_id = "e1d2";
  experiment_.objective = std::move(objective);
  experiment_.seed = UINT64_MAX;
  experiment_.definition = {{"trainable", "Mlp"}};
  journal_ = std::make_shared<MemoryJournal>(experiment_.path);
  hub_ = std::make_unique<report::CallbackHub>(exporters_, std::move(callbacks));
  hub_->experiment_started(experiment_);
}

std::filesystem::path HubRun::trial_path(std::uint64_t trial) const {
  return path() / trials_.at(trial).name;
}

void HubRun::run(std::uint64_t trial, const Json& config) {
  add(trial, config);
  start(trial);
}

void HubRun::add(std::uint64_t trial, const Json& config) {
  const TrialId id(trial);
  Trial& added = trials_[trial];
  added.config = Config(config);
  added.name = trial_directory_name(id, added.config);
  journal_->add(id, added.name, added.config);
  hub_->trial_added(id, added.name, added.config);
}

void HubRun::start(std::uint64_t trial, std::int64_t start_iteration) {
  Trial& known = trials_.at(trial);
  TrialInfo info;
  info.id = TrialId(trial);
  info.name = known.name;
  info.config = known.config;
  info.incarnation = ++known.incarnation;
  info.start_iteration = start_iteration;
  info.node = "host-" + std::to_string(known.incarnation);
  info.node_ip = "10.0.0." + std::to_string(known.incarnation);
  info.pid = 1000 + known.incarnation;
  known.iteration = start_iteration;
  journal_->start(info);
  hub_->trial_started(info);
}

void HubRun::start_with(std::uint64_t trial, const Json& config, std::int64_t start_iteration) {
  trials_.at(trial).config = Config(config);
  start(trial, start_iteration);
}

void HubRun::report(std::uint64_t trial, Metrics metrics) {
  report_at(trial, trials_.at(trial).iteration + 1, std::move(metrics));
}

void HubRun::report_at(std::uint64_t trial, std::int64_t iteration, Metrics metrics) {
  Trial& known = trials_.at(trial);
  known.iteration = iteration;
  const Result result = make_result(iteration, std::move(metrics));
  journal_->result(TrialId(trial), known.incarnation, result);
  hub_->result(TrialId(trial), known.incarnation, result);
}

void HubRun::checkpoint(std::uint64_t trial, std::int64_t iteration) {
  const std::string name = checkpoint_name(iteration);
  journal_->checkpoint(TrialId(trial), name, iteration);
  hub_->checkpoint_stored(TrialId(trial), trials_.at(trial).incarnation, name, iteration);
}

void HubRun::delete_checkpoint(std::uint64_t trial, std::int64_t iteration) {
  journal_->delete_checkpoint(TrialId(trial), checkpoint_name(iteration));
}

void HubRun::state(std::uint64_t trial, TrialState state, const std::string& reason,
                   const std::string& error) {
  journal_->state(TrialId(trial), state, reason, error);
  hub_->trial_state(TrialId(trial), trials_.at(trial).incarnation, state, reason, error);
}

void HubRun::end(const ExperimentEnd& end) {
  end_ = end;
  hub_->experiment_ended(end);
}

void HubRun::kill_and_resume(const Damage& damage, Callbacks callbacks) {
  const std::filesystem::path left = path();
  experiment_.path = folder_.path() / ("experiment-" + std::to_string(++resumes_));
  std::filesystem::copy(
      left, path(),
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
  hub_.reset();
  if (damage) damage(path());
  journal_->move_to(path());
  hub_ = std::make_unique<report::CallbackHub>(exporters_, std::move(callbacks));
  hub_->experiment_started(experiment_, report::Resumed::yes);
  for (const TrialId id : journal_->ids()) hub_->restore_trial(journal_->restored(id));
}

}  // namespace tune::test
