#include "standalone_records.hpp"

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <variant>

#include <tune/error.hpp>
#include <tune/trial.hpp>

#include "core/number_text.hpp"
#include "definition_check.hpp"
#include "experiment_record.hpp"
#include "host.hpp"
#include "runtime/experiment_directory.hpp"

namespace tune::runtime {
namespace {

ExperimentInfo describe_run(const track::Options& options) {
  const std::string program = program_invocation_short_name;
  check_checkpoint_options(options.checkpoint);
  check_experiment_name(options.name);
  ExperimentInfo info;
  info.name = options.name.empty() ? default_experiment_name(program) : options.name;
  info.path = resolve_storage(options.storage_path) / info.name;
  info.experiment_id = draw_experiment_id();
  info.seed = options.seed ? *options.seed : draw_seed();
  info.definition = {
      {"tune_version", TUNE_VERSION},
      {"trainable", program},
      {"metric", nullptr},
      {"mode", nullptr},
      {"num_samples", 1},
      {"checkpoint", describe(options.checkpoint)},
      {"seed", info.seed},
      {"exporters", options.exporters},
  };
  return info;
}

Config config_of(const track::Options& options) {
  if (options.config.is_null()) return {};  // as `= {}` makes it
  if (!options.config.is_object()) {
    throw std::invalid_argument("config must be a JSON object, is " +
                                core::value_text(options.config));
  }
  return Config(options.config);
}

TrialInfo describe_trial(const ExperimentInfo& experiment, const Config& config) {
  Host host = local_host();
  TrialInfo trial;
  trial.id = TrialId(0);
  trial.name = trial_directory_name(trial.id, config);
  trial.path = experiment.path / trial.name;
  trial.config = config;
  trial.incarnation = 1;
  trial.node = std::move(host.name);
  trial.node_ip = std::move(host.ip);
  trial.pid = host.pid;
  return trial;
}

}  // namespace

StandaloneRecords::StandaloneRecords(const track::Options& options)
    : experiment_(describe_run(options)),
      trial_(describe_trial(experiment_, config_of(options))),
      keep_(static_cast<std::size_t>(options.checkpoint.keep)),
      hub_(std::make_unique<report::CallbackHub>(
          options.exporters, std::vector<std::shared_ptr<Callback>>{}, report::KeepHistory::no)),
      store_(experiment_.path) {
  DirectoryClaim claim(experiment_.path);
  claim.keep();  // below, all of it goes if it is of no use
  try {
    start();
  } catch (const std::exception&) {
    hub_.reset();             // it would write what it has
    std::error_code ignored;  // the fault before is the one to hear of
    std::filesystem::remove_all(experiment_.path, ignored);
    throw;
  }
}

void StandaloneRecords::start() {
  hub_->experiment_started(experiment_);
  hub_->trial_added(trial_.id, trial_.name, trial_.config);
  hub_->trial_started(trial_);
  hub_->idle();
  require_storage();
}

void StandaloneRecords::write_each(const std::vector<engine::TrialMessage>& messages) {
  for (const engine::TrialMessage& message : messages) {
    std::visit([this](const auto& report) { write_one(report); }, message.report);
  }
}

void StandaloneRecords::write(const std::vector<engine::TrialMessage>& messages) {
  write_each(messages);
  hub_->idle();
  require_storage();
  delete_checkpoints();
}

void StandaloneRecords::require_storage() const {
  if (!hub_ || !hub_->storage_error()) return;
  throw std::runtime_error("run " + experiment_.name + " in " + experiment_.path.string() +
                           " records no more: " + *hub_->storage_error());
}

void StandaloneRecords::write_one(const engine::Reported& report) {
  hub_->result(trial_.id, trial_.incarnation, report.result);
}

void StandaloneRecords::write_one(const engine::CheckpointStored& report) {
  hub_->checkpoint_stored(trial_.id, trial_.incarnation, report.directory_name,
                          report.training_iteration);
  checkpoints_.push_back(report.directory_name);
  if (checkpoints_.size() > keep_) {
    hub_->checkpoint_deleted(trial_.id, checkpoints_[checkpoints_.size() - keep_ - 1]);
  }
}

void StandaloneRecords::write_one(const engine::CheckpointFailed& report) {
  hub_->warning(trial_.id, "checkpoint of iteration " + std::to_string(report.training_iteration) +
                               " failed: " + report.message);
}

void StandaloneRecords::write_one(const engine::Warned& report) {
  hub_->warning(trial_.id, report.text);
}

// Only once it is written that they are gone.
void StandaloneRecords::delete_checkpoints() {
  for (; checkpoints_.size() > keep_; checkpoints_.pop_front()) {
    const Expected<void> removed = store_.remove(trial_.name, checkpoints_.front());
    if (!removed) hub_->warning(trial_.id, removed.error().message);
  }
}

void StandaloneRecords::end(const std::vector<engine::TrialMessage>& last,
                            const std::string& reason) {
  TUNE_ASSERT(hub_);
  write_each(last);
  hub_->trial_state(trial_.id, trial_.incarnation, TrialState::terminated, reason, "");
  ExperimentEnd end;
  end.terminated_trials = 1;
  end.reason = "all trials ended";
  hub_->experiment_ended(end);
  const std::unique_ptr<report::CallbackHub> ended = std::move(hub_);
  if (const auto& error = ended->storage_error()) {
    throw std::runtime_error("run " + experiment_.name + " in " + experiment_.path.string() +
                             " is not recorded to its end: " + *error);
  }
}

}  // namespace tune::runtime
