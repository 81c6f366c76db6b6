#include "memory_grid.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include <tune/error.hpp>

namespace tune::sim {

void MemoryGrid::on(engine::RecordTrialAdded& record) {
  TUNE_ASSERT(record.trial.value() == entries_.size());
  TrialResult& trial = entries_.emplace_back().trial;
  trial.id = record.trial;
  trial.name = std::move(record.name);
  trial.config = trial.first_config = std::move(record.config);
}

void MemoryGrid::on(const engine::RecordTrialStarted& record) {
  TrialResult& trial = entry(record.start.trial).trial;
  trial.state = TrialState::running;
  trial.config = record.start.config;
}

void MemoryGrid::on(engine::RecordResult& record) {
  Entry& told = entry(record.trial);
  told.trial.training_iteration = record.result.training_iteration;
  told.trial.time_total_s = record.result.time_total_s;
  if (!keeps_history_) {
    told.trial.metrics = std::move(record.result.metrics);
    return;
  }
  // What comes again after a step back takes the place of all from there on.
  const auto before = static_cast<std::size_t>(record.result.training_iteration - 1);
  if (told.history.size() > before) told.history.resize(before);
  told.history.push_back(std::move(record.result));
}

void MemoryGrid::on(engine::RecordTrialState& record) {
  TrialResult& trial = entry(record.trial).trial;
  trial.state = record.state;
  trial.reason = std::move(record.reason);
  trial.error = std::move(record.error);
}

void MemoryGrid::on(engine::RecordCheckpoint& record) {
  Entry& told = entry(record.trial);
  told.checkpoints.push_back(std::move(record.directory_name));
  told.trial.checkpoints.push_back({.path = {}, .training_iteration = record.training_iteration});
}

void MemoryGrid::on(const engine::DeleteCheckpoint& command) {
  // The name begins with the id; which of the trials it is need not be looked for.
  const std::size_t id = std::stoull(command.checkpoint.trial_name);
  if (id >= entries_.size()) return;
  Entry& told = entries_[id];
  const auto found = std::find(told.checkpoints.begin(), told.checkpoints.end(),
                               command.checkpoint.directory_name);
  if (found == told.checkpoints.end()) return;
  told.trial.checkpoints.erase(told.trial.checkpoints.begin() + (found - told.checkpoints.begin()));
  told.checkpoints.erase(found);
}

std::vector<TrialId> MemoryGrid::ids() const {
  std::vector<TrialId> ids;
  ids.reserve(entries_.size());
  for (const Entry& told : entries_) ids.push_back(told.trial.id);
  return ids;
}

TrialResult MemoryGrid::trial(TrialId id) const {
  const Entry& told = entry(id);
  TrialResult trial = told.trial;
  if (!told.history.empty()) trial.metrics = told.history.back().metrics;
  if (!trial.checkpoints.empty()) trial.checkpoint = trial.checkpoints.back();
  trial.source = shared_from_this();
  return trial;
}

void MemoryGrid::for_each(const std::function<void(const TrialResult&)>& take) const {
  for (const Entry& told : entries_) take(trial(told.trial.id));
}

std::vector<Result> MemoryGrid::history(TrialId id) const { return entry(id).history; }

MemoryGrid::Entry& MemoryGrid::entry(TrialId id) {
  return const_cast<Entry&>(std::as_const(*this).entry(id));
}

const MemoryGrid::Entry& MemoryGrid::entry(TrialId id) const {
  if (id.value() >= entries_.size()) {
    throw std::out_of_range("there is no trial " + std::to_string(id.value()));
  }
  return entries_[id.value()];
}

}  // namespace tune::sim
