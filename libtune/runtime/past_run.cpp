#include "past_run.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <variant>

#include <tune/error.hpp>
#include <tune/result.hpp>

#include "engine/event_json.hpp"
#include "store/checkpoint_store.hpp"

namespace tune::runtime {
namespace {

constexpr TrialId only_trial{0};

void refuse_experiment(const store::ExperimentRow& row, const std::filesystem::path& directory) {
  if (is_run_by_itself(row)) return;
  throw std::invalid_argument("name \"" + row.name + "\": there is an experiment in " +
                              directory.string() +
                              ", and track goes on with runs of its own only; give the run another "
                              "name, or set resume to fresh");
}

StandaloneJournal::Past past_of(const store::JournalReader& reader) {
  StandaloneJournal::Past past;
  const std::vector<store::SessionRow> sessions = reader.sessions();
  past.last_event = reader.last_event();
  if (sessions.empty()) return past;
  past.sessions = sessions.back().number;
  past.time = Time(reader.last_event_time_s());
  return past;
}

/// What the events of one kind say, by their numbers.
template <class Report>
std::map<store::EventNumber, Report> read_reports(const store::JournalReader& reader,
                                                  std::string_view kind) {
  std::map<store::EventNumber, Report> reports;
  for (const store::EventRow& row : reader.events_of_kind(kind)) {
    const engine::Event event = engine::event_of({.kind = row.kind,
                                                  .trial = row.trial,
                                                  .incarnation = row.incarnation,
                                                  .sequence = row.sequence,
                                                  .body = engine::object_of_text(row.body)},
                                                 engine::EngineOptions{});
    const auto& report = std::get<engine::TrialMessage>(event).report;
    reports.emplace(row.number, std::get<Report>(report));
  }
  return reports;
}

void read_checkpoints(const store::JournalReader& reader, PastRun& run) {
  const auto stored = read_reports<engine::CheckpointStored>(reader, "checkpoint");
  for (const auto& [number, report] : stored) {
    run.stored_until = std::max(run.stored_until, report.training_iteration);
  }
  for (const store::CheckpointRow& row : reader.checkpoints(only_trial)) {
    if (!row.is_kept) continue;
    PastCheckpoint checkpoint{row.directory, row.training_iteration, 0, {}, worst_value()};
    if (const auto found = stored.find(row.event); found != stored.end()) {
      checkpoint.time_total_s = found->second.time_total_s;
      checkpoint.files = found->second.files;
    }
    run.checkpoints.push_back(std::move(checkpoint));
  }
}

void read_saves(const store::JournalReader& reader, PastRun& run) {
  const std::vector<store::SavedRow> rows = reader.saves(only_trial);
  if (rows.empty()) return;
  const auto reports = read_reports<engine::Saved>(reader, "saved");
  for (const store::SavedRow& row : rows) {
    if (const auto found = reports.find(row.event); found != reports.end()) {
      run.saves.push_back(found->second.saved);
    }
  }
}

void read_scores(const store::JournalReader& reader, const std::string& metric, PastRun& run) {
  std::map<std::int64_t, PastCheckpoint*> by_iteration;
  for (PastCheckpoint& checkpoint : run.checkpoints) {
    by_iteration[checkpoint.training_iteration] = &checkpoint;
  }
  reader.for_each_result(only_trial, [&](const store::LineResult& line) {
    const auto found = by_iteration.find(line.result.training_iteration);
    if (found == by_iteration.end()) return;
    found->second->score = line.result.number(metric).value_or(worst_value());
  });
}

// User code gets to see only what is as it was stored.
void leave_out_damaged(const std::filesystem::path& directory, PastRun& run) {
  const store::CheckpointStore store(directory);
  while (!run.checkpoints.empty()) {
    const PastCheckpoint& newest = run.checkpoints.back();
    const std::string& trial = run.trial->name;
    const Expected<void> verified = newest.files
                                        ? store.verify(trial, newest.directory_name, *newest.files)
                                        : store.require_directory(trial, newest.directory_name);
    if (verified) return;
    if (verified.error().code != ErrorCode::damaged) {
      throw std::runtime_error("run " + run.experiment.name + " in " + directory.string() + ": " +
                               verified.error().message);
    }
    run.damaged.push_back(newest.directory_name);
    run.damages.push_back(verified.error().message);
    run.checkpoints.pop_back();
  }
  if (run.damages.empty()) return;
  // Nothing that it did is silently done again.
  throw std::runtime_error("run " + run.experiment.name + " in " + directory.string() +
                           ": no usable checkpoint: " + run.damages.front() +
                           "; begin it anew with resume set to fresh");
}

}  // namespace

bool is_run_by_itself(const store::ExperimentRow& row) { return !row.definition.contains("space"); }

PastRun read_past_run(const store::JournalReader& reader, const std::filesystem::path& directory,
                      const std::optional<Objective>& checkpoint_objective) {
  PastRun run;
  run.experiment = reader.experiment();
  refuse_experiment(run.experiment, directory);
  run.journal = past_of(reader);
  run.trial = reader.trial(only_trial);
  if (!run.trial) return run;
  read_checkpoints(reader, run);
  leave_out_damaged(directory, run);
  read_saves(reader, run);
  if (checkpoint_objective) read_scores(reader, checkpoint_objective->metric, run);
  return run;
}

}  // namespace tune::runtime
