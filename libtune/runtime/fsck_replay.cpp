#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <variant>

#include "engine/engine.hpp"
#include "fsck_journal.hpp"
#include "past_run.hpp"
#include "recorded_engine.hpp"
#include "runtime/past_experiment.hpp"

namespace tune::runtime {
namespace {

/// A trial as the engine tells of it.
struct RetoldTrial {
  struct LineEntry {
    std::uint32_t incarnation = 0;
    bool done = false;
  };
  std::string name;
  TrialState state = TrialState::pending;
  std::uint32_t incarnation = 0;
  std::string reason;
  std::string error;
  std::vector<LineEntry> line;
  std::map<std::string, bool> checkpoints;               // by directory: whether it is kept
  std::set<std::pair<std::string, std::int64_t>> saves;  // name and index
};

/// Does with the records of the engine what the journal does.
class Retelling {
 public:
  template <class Command>
  void operator()(const Command&) {}
  void operator()(const engine::RecordTrialAdded& record) {
    trials[record.trial].name = record.name;
  }
  void operator()(const engine::RecordTrialStarted& record) {
    RetoldTrial& trial = trials[record.start.trial];
    trial.state = TrialState::running;
    trial.incarnation = record.start.incarnation;
    trial.reason.clear();
    trial.error.clear();
  }
  void operator()(const engine::RecordResult& record) {
    auto& line = trials[record.trial].line;
    line.resize(static_cast<std::size_t>(record.result.training_iteration - 1));
    line.push_back({record.incarnation, record.result.done});
  }
  void operator()(const engine::RecordCheckpoint& record) {
    trials[record.trial].checkpoints[record.directory_name] = true;
  }
  void operator()(const engine::RecordCheckpointDamaged& record) {
    auto& checkpoints = trials[record.trial].checkpoints;
    if (const auto found = checkpoints.find(record.directory_name); found != checkpoints.end()) {
      found->second = false;
    }
  }
  void operator()(const engine::DeleteCheckpoint& record) {
    const TrialId owner{std::stoull(record.checkpoint.trial_name)};
    trials[owner].checkpoints.erase(record.checkpoint.directory_name);
  }
  void operator()(const engine::RecordSaved& record) {
    trials[record.trial].saves.emplace(record.saved.name, record.saved.index);
  }
  void operator()(const engine::RecordSavedDropped& record) {
    trials[record.trial].saves.erase({record.name, record.index});
  }
  void operator()(const engine::RecordTrialState& record) {
    RetoldTrial& trial = trials[record.trial];
    trial.state = record.state;
    trial.incarnation = record.incarnation;
    trial.reason = record.reason;
    trial.error = record.error;
  }
  void operator()(const engine::RecordRestarted& record) { trials[record.trial].line.clear(); }

  std::map<TrialId, RetoldTrial> trials;
};

std::string compare_lines(const store::JournalReader& reader, TrialId id,
                          const std::vector<RetoldTrial::LineEntry>& line) {
  std::size_t results = 0;
  std::string difference;
  reader.for_each_result(id, [&](const store::LineResult& result) {
    const std::size_t place = results++;
    if (!difference.empty() || place >= line.size()) return;
    if (line[place].incarnation != result.incarnation || line[place].done != result.result.done) {
      difference = "iteration " + std::to_string(result.result.training_iteration) +
                   " would be of start " + std::to_string(line[place].incarnation) +
                   (line[place].done ? " and done" : " and not done");
    }
  });
  if (results == line.size()) return difference;
  return std::to_string(results) + " results, want " + std::to_string(line.size());
}

std::string compare_trial(const store::JournalReader& reader, const store::TrialRow& row,
                          const RetoldTrial& retold) {
  if (row.name != retold.name) return "its name is " + row.name + ", want " + retold.name;
  if (row.state != retold.state || row.reason != retold.reason || row.error != retold.error) {
    return "it is " + std::string(to_string(row.state)) + " (" + row.reason + "), want " +
           std::string(to_string(retold.state)) + " (" + retold.reason + ")";
  }
  if (row.incarnation != retold.incarnation) {
    return std::to_string(row.incarnation) + " starts, want " + std::to_string(retold.incarnation);
  }
  if (std::string line = compare_lines(reader, row.id, retold.line); !line.empty()) return line;
  std::map<std::string, bool> checkpoints;
  for (const store::CheckpointRow& checkpoint : reader.checkpoints(row.id)) {
    checkpoints[checkpoint.directory] = checkpoint.is_kept;
  }
  for (const auto& [directory, is_kept] : retold.checkpoints) {
    const auto found = checkpoints.find(directory);
    if (found == checkpoints.end()) return directory + " is not on record";
    if (found->second != is_kept) {
      return directory + (is_kept ? " is not kept" : " is kept") + " on record";
    }
    checkpoints.erase(found);
  }
  if (!checkpoints.empty()) {
    return checkpoints.begin()->first + " is on record, and should not be";
  }
  std::set<std::pair<std::string, std::int64_t>> saves;
  for (const store::SavedRow& saved : reader.saves(row.id)) saves.emplace(saved.name, saved.index);
  return saves == retold.saves ? std::string() : "other saved values are on record";
}

}  // namespace

void check_replay(const store::JournalReader& reader, FsckFindings& findings) {
  const auto where = findings.directory() / store::journal_file;
  const store::ExperimentRow row = reader.experiment();
  if (is_run_by_itself(row)) return;  // no engine took part
  std::optional<RecordedEngine> recorded_engine;
  try {
    recorded_engine.emplace(reader);
  } catch (const std::exception& error) {
    return findings.note(where, std::string("the events were not replayed: ") + error.what());
  }
  Retelling retelling;
  reader.for_each_event([&](const store::RecordedEvent& recorded) {
    for (const engine::Command& command :
         recorded_engine->replay(recorded, decisions_on_record(recorded),
                                 /*asks_scheduler=*/false)) {
      std::visit(retelling, command);
    }
  });
  reader.for_each_trial([&](const store::TrialRow& trial) {
    const auto retold = retelling.trials.find(trial.id);
    const std::string difference = retold == retelling.trials.end()
                                       ? "there is none"
                                       : compare_trial(reader, trial, retold->second);
    if (difference.empty()) return;
    findings.fault(
        where, fsck_trial_text(trial.id) + "not as a replay of the events has it: " + difference);
  });
  findings.report().is_replayed = true;
}

}  // namespace tune::runtime
