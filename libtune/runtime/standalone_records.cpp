#include "standalone_records.hpp"

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <variant>

#include <tune/error.hpp>
#include <tune/trial.hpp>

#include "core/checkpoint_manifest.hpp"
#include "core/checkpoint_retention.hpp"
#include "core/number_text.hpp"
#include "definition_check.hpp"
#include "experiment_record.hpp"
#include "host.hpp"
#include "record_call.hpp"
#include "runtime/experiment_directory.hpp"

namespace tune::runtime {
namespace {

ExperimentInfo describe_run(const track::Options& options) {
  const std::string program = program_invocation_short_name;
  check_checkpoint_options(options.checkpoint);
  (void)core::objective_of(options.checkpoint, std::nullopt);
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
      checkpoint_options_(options.checkpoint),
      checkpoint_objective_(core::objective_of(options.checkpoint, std::nullopt)),
      hub_(std::make_unique<report::CallbackHub>(options.exporters,
                                                 std::vector<std::shared_ptr<Callback>>{})),
      store_(experiment_.path) {
  DirectoryClaim claim(experiment_.path);
  if (look_into(experiment_.path) != Contents::nothing) {
    throw std::invalid_argument(
        "experiment directory " + experiment_.path.string() +
        ": there are results in it already; give the run another name, or move the directory away");
  }
  lock_.emplace(claim.keep());
  try {
    begin_new();
  } catch (const std::exception&) {
    hub_.reset();  // it would write what it has
    journal_.reset();
    std::error_code ignored;  // the fault before is the one to hear of
    std::filesystem::remove_all(experiment_.path, ignored);
    throw;
  }
}

void StandaloneRecords::begin_new() {
  const store::ChosenMode mode = store::choose_journal_mode(experiment_.path);
  const store::ExperimentRow row{experiment_.name, experiment_.experiment_id, experiment_.objective,
                                 experiment_.seed, experiment_.definition};
  journal_ = std::make_unique<StandaloneJournal>(
      store::Journal::create(experiment_.path, row, mode.mode), StandaloneJournal::Past{});
  hub_->experiment_started(experiment_);
  add_start();
  write_records();
  require_storage();
}

// The trial's first message, which it has yet to tell.
void StandaloneRecords::add_start() {
  journal_->add({trial_.id, trial_.incarnation, next_sequence_++, engine::Started{}}, false);
  add(engine::RecordTrialAdded{trial_.id, trial_.name, trial_.config});
  add(trial_);
}

void StandaloneRecords::write(const std::vector<engine::TrialMessage>& messages) {
  try {
    for (const engine::TrialMessage& message : messages) add(message);
    write_records();
  } catch (const store::JournalError& error) {
    journal_fault_ = error.what();
  }
  require_storage();
  delete_checkpoints();
}

void StandaloneRecords::add(const engine::TrialMessage& message) {
  if (message.sequence < next_sequence_) return;  // the start, which was added before
  next_sequence_ = message.sequence + 1;
  const bool is_result = std::holds_alternative<engine::Reported>(message.report);
  journal_->add(message, /*is_plain_result=*/is_result);
  std::visit([this](const auto& report) { add_what_came_of(report); }, message.report);
}

void StandaloneRecords::add(Record record) {
  journal_->add(record);
  records_.push_back(std::move(record));
}

// First the journal, then what is made of it.
void StandaloneRecords::write_records() {
  journal_->commit();
  for (Record& record : std::exchange(records_, {})) std::visit(RecordCall{*hub_}, record);
  hub_->idle();
}

void StandaloneRecords::require_storage() const {
  const std::string fault = storage_fault();
  if (fault.empty()) return;
  throw std::runtime_error("run " + experiment_.name + " in " + experiment_.path.string() +
                           " records no more: " + fault);
}

std::string StandaloneRecords::storage_fault() const {
  if (!journal_fault_.empty() || !hub_) return journal_fault_;
  return hub_->storage_error().value_or("");
}

void StandaloneRecords::add_what_came_of(const engine::Reported& report) {
  last_ = report.result;
  add(engine::RecordResult{trial_.id, trial_.incarnation, report.result});
}

void StandaloneRecords::add_what_came_of(const engine::CheckpointStored& report) {
  const core::SharedManifest& files = report.files;
  add(engine::RecordCheckpoint{trial_.id, trial_.incarnation, report.directory_name,
                               report.training_iteration, files, files ? files->size() : 0,
                               files ? core::total_size_bytes(*files) : 0});
  double score = worst_value();
  if (checkpoint_objective_ && last_.training_iteration == report.training_iteration) {
    score = last_.number(checkpoint_objective_->metric).value_or(score);
  }
  names_.push_back(report.directory_name);
  scores_.push_back(score);
  drop_checkpoints();
}

void StandaloneRecords::drop_checkpoints() {
  const std::vector<bool> kept =
      core::kept_checkpoints(scores_, checkpoint_options_,
                             checkpoint_objective_ ? checkpoint_objective_->mode : Mode::min);
  for (std::size_t i = kept.size(); i-- > 0;) {
    if (kept[i]) continue;
    add(engine::DeleteCheckpoint{{trial_.name, names_[i]}});
    dropped_.push_back(names_[i]);
    names_.erase(names_.begin() + static_cast<std::ptrdiff_t>(i));
    scores_.erase(scores_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void StandaloneRecords::add_what_came_of(const engine::CheckpointFailed& report) {
  add(engine::RecordWarning{trial_.id, "checkpoint of iteration " +
                                           std::to_string(report.training_iteration) +
                                           " failed: " + report.message});
}

void StandaloneRecords::add_what_came_of(const engine::Warned& report) {
  add(engine::RecordWarning{trial_.id, report.text});
}

void StandaloneRecords::delete_checkpoints() {
  for (const std::string& name : std::exchange(dropped_, {})) {
    const Expected<void> removed = store_.remove(trial_.name, name);
    if (!removed) hub_->warning(trial_.id, removed.error().message);
  }
}

void StandaloneRecords::end(const std::vector<engine::TrialMessage>& last,
                            const std::string& reason) {
  TUNE_ASSERT(hub_);
  ExperimentEnd end;
  end.terminated_trials = 1;
  end.reason = "all trials ended";
  try {
    for (const engine::TrialMessage& message : last) add(message);
    journal_->add({trial_.id, trial_.incarnation, next_sequence_++, engine::Ended{}}, false);
    add(engine::RecordTrialState{trial_.id, trial_.incarnation, TrialState::terminated, reason,
                                 ""});
    write_records();
    hub_->experiment_ended(end);
    journal_->end_session(end);
    journal_->finish();
  } catch (const store::JournalError& error) {
    journal_fault_ = error.what();
  }
  const std::string fault = storage_fault();
  hub_.reset();
  journal_.reset();
  lock_.reset();
  if (fault.empty()) return;
  throw std::runtime_error("run " + experiment_.name + " in " + experiment_.path.string() +
                           " is not recorded to its end: " + fault);
}

}  // namespace tune::runtime
