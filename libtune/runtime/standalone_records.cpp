#include "standalone_records.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
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
#include "record_call.hpp"
#include "runtime/host.hpp"
#include "runtime/left_overs.hpp"
#include "runtime/past_experiment.hpp"

namespace tune::runtime {
namespace {

constexpr const char* run_variable = "TUNE_RUN";

/// Empty: one has to be made up.
std::string name_of_run(const track::Options& options) {
  const char* variable = std::getenv(run_variable);
  if (!options.name.empty() || variable == nullptr) {
    check_experiment_name(options.name);
    return options.name;
  }
  try {
    check_experiment_name(variable);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string(run_variable) + ": " + error.what());
  }
  return variable;
}

ExperimentInfo describe_run(const track::Options& options) {
  const std::string program = program_invocation_short_name;
  check_checkpoint_options(options.checkpoint);
  (void)core::objective_of(options.checkpoint, std::nullopt);
  ExperimentInfo info;
  info.name = name_of_run(options);
  info.has_default_name = info.name.empty();
  if (info.has_default_name) info.name = default_experiment_name(program);
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

store::ExperimentRow row_of_run(const ExperimentInfo& info) {
  return {info.name, info.experiment_id, info.objective, info.seed, info.definition};
}

// The claim removes the rest.
void remove_all_but_lock(const std::filesystem::path& directory) {
  std::error_code ignored;  // the fault before is the one to hear of
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    if (entry.path().filename() == store::lock_file) continue;
    std::filesystem::remove_all(entry.path(), ignored);
  }
}

/// The descriptor of the open run's lock: a forked child, which may outlive this process, must not
/// hold on to it.
std::atomic<int> lock_descriptor{-1};

void close_lock_in_child() {
  const int descriptor = lock_descriptor.exchange(-1);
  if (descriptor >= 0) ::close(descriptor);
}

void leave_lock_when_forked(const store::DirectoryLock& lock) {
  [[maybe_unused]] static const int registered =
      ::pthread_atfork(nullptr, nullptr, &close_lock_in_child);
  lock_descriptor = lock.descriptor();
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
  const Contents contents = usable_contents(options, claim);
  try {
    if (contents == Contents::experiment) {
      go_on(options);
    } else {
      begin_new();
    }
  } catch (const std::exception&) {
    hub_.reset();  // it would write what it has
    journal_.reset();
    if (contents != Contents::experiment) remove_all_but_lock(experiment_.path);
    throw;
  }
  lock_.emplace(claim.keep());
  leave_lock_when_forked(*lock_);
}

// What the directory holds that this run may go on with, or nothing; else it is refused.
Contents StandaloneRecords::usable_contents(const track::Options& options, DirectoryClaim& claim) {
  const Contents contents = look_into(experiment_.path);
  if (contents == Contents::nothing) return contents;
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument("experiment directory " + experiment_.path.string() + ": " + why);
  };
  if (options.resume == Resume::fresh) {
    add_note("what was there before is now " + claim.move_aside().string());
    return Contents::nothing;
  }
  if (options.resume == Resume::never) {
    refuse(
        "there are results in it already, and resume is never; give the run another name, or let "
        "it go on");
  }
  if (contents == Contents::other) {
    refuse("there are files in it and no " + std::string(store::journal_file) +
           ", so it cannot go on; give the run another name, or move the directory away");
  }
  return contents;
}

void StandaloneRecords::begin_new() {
  const store::ChosenMode mode = store::choose_journal_mode(experiment_.path);
  const store::ExperimentRow row = row_of_run(experiment_);
  journal_ = std::make_unique<StandaloneJournal>(
      store::Journal::create(experiment_.path, row, mode.mode), row, StandaloneJournal::Past{});
  hub_->experiment_started(experiment_);
  add_start(/*is_first=*/true);
  write_records();
  require_storage();
}

void StandaloneRecords::go_on(const track::Options& options) {
  const store::JournalReader reader(experiment_.path);
  const PastRun past = read_past_run(reader, experiment_.path, checkpoint_objective_);
  experiment_.experiment_id = past.experiment.experiment_id;
  if (!options.seed) experiment_.seed = past.experiment.seed;
  experiment_.definition["seed"] = experiment_.seed;
  for (std::string& line : clean_directories(reader, experiment_.path)) add_note(std::move(line));
  if (past.trial) take_up(past, options);

  const store::ChosenMode mode = store::choose_journal_mode(experiment_.path);
  journal_ = std::make_unique<StandaloneJournal>(store::Journal::open(experiment_.path, mode.mode),
                                                 row_of_run(experiment_), past.journal);
  hub_->experiment_started(experiment_, report::Resumed::yes);
  restore_trials(reader, {trial_.id}, *hub_);
  add_start(/*is_first=*/!past.trial);
  write_records();
  require_storage();
}

// Goes on after the newest checkpoint, or without one after the last result.
void StandaloneRecords::take_up(const PastRun& past, const track::Options& options) {
  const store::TrialRow& row = *past.trial;
  trial_.name = row.name;
  trial_.path = experiment_.path / row.name;
  trial_.incarnation = row.incarnation + 1;
  if (options.config.empty()) trial_.config = row.last_config;
  if (row.last) last_ = *row.last;
  start_.time_total_s = last_.time_total_s;
  trial_.start_iteration = last_.training_iteration;
  start_.stored_until = past.stored_until;
  for (const PastCheckpoint& checkpoint : past.checkpoints) {
    checkpoints_.push_back(
        {checkpoint.directory_name, checkpoint.training_iteration, checkpoint.score});
    trial_.start_iteration = checkpoint.training_iteration;
    start_.time_total_s = checkpoint.time_total_s;
    start_.checkpoint = engine::CheckpointLocation{row.name, checkpoint.directory_name};
  }
  for (const engine::SavedValue& saved : past.saves) (void)saves_.put(saved);
  start_.saves = saves_.all();
  for (std::size_t i = 0; i < past.damaged.size(); ++i) {
    records_.emplace_back(engine::RecordCheckpointDamaged{trial_.id, past.damaged[i]});
    records_.emplace_back(engine::RecordWarning{
        trial_.id, past.damages[i] + "; goes back to " + checkpoints_.back().name});
  }
}

// The trial's first message, which it has yet to tell, and what came to light before.
void StandaloneRecords::add_start(bool is_first) {
  journal_->add({trial_.id, trial_.incarnation, next_sequence_++, engine::Started{}}, false);
  for (Record& record : std::exchange(records_, {})) add(std::move(record));
  if (is_first) add(engine::RecordTrialAdded{trial_.id, trial_.name, trial_.config});
  add(trial_);
}

void StandaloneRecords::add_note(std::string text) {
  records_.emplace_back(NodeNote{std::move(text)});
}

void StandaloneRecords::write(const std::vector<engine::TrialMessage>& messages) {
  try {
    for (const engine::TrialMessage& message : messages) add(message);
    write_records();
  } catch (const store::JournalError& error) {
    journal_fault_ = error.what();
  }
  require_storage();
  delete_dropped();
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

// What a run that went back had of this iteration and later ones makes way.
void StandaloneRecords::add_what_came_of(const engine::Reported& report) {
  last_ = report.result;
  add(engine::RecordResult{trial_.id, trial_.incarnation, report.result});
  drop_saves(saves_.drop_from(last_.training_iteration));
  std::vector<bool> kept;
  for (const KeptCheckpoint& checkpoint : checkpoints_) {
    kept.push_back(checkpoint.training_iteration < last_.training_iteration);
  }
  drop_checkpoints(kept);
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
  checkpoints_.push_back({report.directory_name, report.training_iteration, score});
  std::vector<double> scores;
  for (const KeptCheckpoint& checkpoint : checkpoints_) scores.push_back(checkpoint.score);
  drop_checkpoints(
      core::kept_checkpoints(scores, checkpoint_options_,
                             checkpoint_objective_ ? checkpoint_objective_->mode : Mode::min));
}

void StandaloneRecords::drop_checkpoints(const std::vector<bool>& kept) {
  for (std::size_t i = kept.size(); i-- > 0;) {
    if (kept[i]) continue;
    delete_later(checkpoints_[i].name);
    checkpoints_.erase(checkpoints_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void StandaloneRecords::add_what_came_of(const engine::Saved& report) {
  for (const engine::SavedValue& replaced : saves_.put(report.saved)) {
    if (!replaced.directory_name.empty()) delete_later(replaced.directory_name);
  }
  add(engine::RecordSaved{trial_.id, trial_.incarnation, report.saved});
  std::vector<std::int64_t> iterations{report.saved.index};
  for (const KeptCheckpoint& checkpoint : checkpoints_) {
    iterations.push_back(checkpoint.training_iteration);
  }
  drop_saves(saves_.keep_for(iterations));
}

void StandaloneRecords::drop_saves(const std::vector<engine::SavedValue>& dropped) {
  for (const engine::SavedValue& saved : dropped) {
    add(engine::RecordSavedDropped{trial_.id, saved.name, saved.index});
    if (!saved.directory_name.empty()) delete_later(saved.directory_name);
  }
}

// Its files go once that is in the journal.
void StandaloneRecords::delete_later(const std::string& directory_name) {
  add(engine::DeleteCheckpoint{{trial_.name, directory_name}});
  dropped_.push_back(directory_name);
}

void StandaloneRecords::add_what_came_of(const engine::CheckpointFailed& report) {
  add(engine::RecordWarning{trial_.id, "checkpoint of iteration " +
                                           std::to_string(report.training_iteration) +
                                           " failed: " + report.message});
}

void StandaloneRecords::add_what_came_of(const engine::Warned& report) {
  add(engine::RecordWarning{trial_.id, report.text});
}

void StandaloneRecords::delete_dropped() {
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
  lock_descriptor = -1;
  lock_.reset();
  if (fault.empty()) return;
  throw std::runtime_error("run " + experiment_.name + " in " + experiment_.path.string() +
                           " is not recorded to its end: " + fault);
}

}  // namespace tune::runtime
