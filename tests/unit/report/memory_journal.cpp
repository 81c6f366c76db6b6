#include "memory_journal.hpp"

#include <utility>

namespace tune::test {

MemoryJournal::Trial* MemoryJournal::live(TrialId id) {
  Trial& trial = trials_.at(id);
  const bool has_ended = trial.state == TrialState::terminated || trial.state == TrialState::error;
  return has_ended ? nullptr : &trial;
}

void MemoryJournal::add(TrialId id, const std::string& name, const Config& config) {
  trials_[id].name = name;
  trials_[id].config = config;
}

void MemoryJournal::start(const TrialInfo& info) {
  Trial* const trial = live(info.id);
  if (trial == nullptr) return;
  trial->state = TrialState::running;
  trial->config = info.config;
  trial->starts.push_back(info);
  trial->starts.back().path.clear();  // it is not kept
}

void MemoryJournal::result(TrialId id, std::uint32_t incarnation, const Result& result) {
  Trial* const trial = live(id);
  if (trial == nullptr) return;
  std::erase_if(trial->rows, [&](const Row& row) {
    return row.result.training_iteration >= result.training_iteration;
  });
  trial->rows.push_back({incarnation, result, ""});
}

void MemoryJournal::checkpoint(TrialId id, const std::string& directory,
                               std::int64_t training_iteration) {
  Trial* const trial = live(id);
  if (trial == nullptr) return;
  trial->checkpoints.emplace_back(directory, training_iteration);
  for (Row& row : trial->rows) {
    if (row.result.training_iteration == training_iteration) row.checkpoint = directory;
  }
}

void MemoryJournal::delete_checkpoint(TrialId id, const std::string& directory) {
  std::erase_if(trials_.at(id).checkpoints,
                [&](const auto& checkpoint) { return checkpoint.first == directory; });
}

void MemoryJournal::state(TrialId id, TrialState state, const std::string& reason,
                          const std::string& error) {
  Trial* const trial = live(id);
  if (trial == nullptr) return;
  trial->state = state;
  trial->reason = reason;
  trial->error = error;
}

void MemoryJournal::drop_results(TrialId id) { trials_.at(id).rows.clear(); }

void MemoryJournal::revive(TrialId id) { trials_.at(id).state = TrialState::pending; }

report::RestoredTrial MemoryJournal::restored(TrialId id) const {
  const Trial& trial = trials_.at(id);
  report::RestoredTrial restored;
  if (!trial.starts.empty()) restored.trial = trial.starts.back();
  restored.trial.id = id;
  restored.trial.name = trial.name;
  restored.trial.config = trial.config;
  restored.state = trial.state;
  restored.reason = trial.reason;
  restored.error = trial.error;
  if (!trial.rows.empty()) {
    restored.last = trial.rows.back().result;
    restored.last_checkpoint = trial.rows.back().checkpoint;
  }
  restored.starts = [this, &trial] {
    ++lines_read;
    return trial.starts;
  };
  restored.results = [this, &trial](const report::RestoredTrial::TakeResult& take) {
    ++lines_read;
    for (const Row& row : trial.rows) take(row.incarnation, row.result, row.checkpoint);
  };
  return restored;
}

std::vector<TrialId> MemoryJournal::ids() const {
  std::vector<TrialId> ids;
  for (const auto& [id, trial] : trials_) ids.push_back(id);
  return ids;
}

TrialResult MemoryJournal::trial(TrialId id) const {
  const Trial& trial = trials_.at(id);
  TrialResult result;
  result.id = id;
  result.name = trial.name;
  result.state = trial.state;
  result.config = trial.config;
  result.path = experiment_ / trial.name;
  result.reason = trial.reason;
  result.error = trial.error;
  if (!trial.rows.empty()) {
    const Result& last = trial.rows.back().result;
    result.metrics = last.metrics;
    result.training_iteration = last.training_iteration;
    result.time_total_s = last.time_total_s;
  }
  for (const auto& [directory, training_iteration] : trial.checkpoints) {
    result.checkpoints.push_back({result.path / directory, training_iteration});
  }
  if (!result.checkpoints.empty()) result.checkpoint = result.checkpoints.back();
  result.source = std::shared_ptr<const ResultSource>(std::shared_ptr<const ResultSource>(), this);
  return result;
}

void MemoryJournal::for_each(const std::function<void(const TrialResult&)>& take) const {
  for (const auto& [id, unused] : trials_) take(trial(id));
}

std::vector<Result> MemoryJournal::history(TrialId id) const {
  ++histories_read;
  std::vector<Result> history;
  for (const Row& row : trials_.at(id).rows) history.push_back(row.result);
  return history;
}

}  // namespace tune::test
