#include <algorithm>

#include <tune/error.hpp>

#include "core/checkpoint_retention.hpp"
#include "engine_implementation.hpp"

namespace tune::engine {
namespace {

std::pair<std::string, std::string> pin_key(const CheckpointLocation& checkpoint) {
  return {checkpoint.trial_name, checkpoint.directory_name};
}

}  // namespace

void Engine::Implementation::on(TrialRecord& record, const CheckpointStored& report) {
  Run& run = *record.run;
  // What is taken over is worth what it was worth where it comes from.
  const double score =
      run.adopting ? run.adopting->source.score : score_of(record, report.training_iteration);
  StoredCheckpoint stored{report.directory_name,
                          report.training_iteration,
                          report.time_total_s,
                          record.trial->config(),
                          report.files,
                          score,
                          run.exploit};
  // One of the same name was replaced on disk.
  std::erase_if(record.checkpoints, [&](const StoredCheckpoint& old) {
    return old.directory_name == stored.directory_name;
  });
  record.checkpoints.push_back(std::move(stored));
  record.stored_until = std::max(record.stored_until, report.training_iteration);
  record.trial->set_checkpoint_iteration(report.training_iteration);
  const core::SharedManifest& files = report.files;
  emit(RecordCheckpoint{record.id(), run.incarnation, report.directory_name,
                        report.training_iteration, files, files ? files->size() : 0,
                        files ? core::total_size_bytes(*files) : 0});
  end_adoption(run);
  trim_checkpoints(record);
}

double Engine::Implementation::score_of(const TrialRecord& record, std::int64_t iteration) const {
  if (iteration == 0 || record.last.training_iteration != iteration) return worst_value();
  return target_of(checkpoint_objective_, record.last);
}

void Engine::Implementation::cancel_exploit(TrialRecord& record) {
  if (!record.exploit) return;
  const PendingExploit exploit = *record.exploit;
  record.exploit.reset();
  unpin(exploit.source_id, exploit.location());
}

// The donor's checkpoint is the trial's own by now, or never will be.
void Engine::Implementation::end_adoption(Run& run) {
  if (!run.adopting) return;
  const PendingExploit adopted = *run.adopting;
  run.adopting.reset();
  unpin(adopted.source_id, adopted.location());
}

// Once a clone has reported it is known to have been loaded.
void Engine::Implementation::record_exploit(TrialRecord& record) {
  const core::SharedExploit& now = record.run->exploit;
  if (now == record.recorded_exploit) return;
  const std::uint64_t number = now ? now->number : 0;
  const bool is_new = now && (!record.recorded_exploit || number > record.recorded_exploit->number);
  record.recorded_exploit = now;
  if (is_new) {
    emit(RecordExploit{now});
  } else {
    emit(RecordExploitsDropped{record.id(), number});
  }
}

CheckpointLocation Engine::Implementation::location(const TrialRecord& record,
                                                    const StoredCheckpoint& checkpoint) const {
  return {record.trial->name(), checkpoint.directory_name};
}

void Engine::Implementation::pin(const CheckpointLocation& checkpoint) {
  ++pins_[pin_key(checkpoint)];
}

void Engine::Implementation::unpin(TrialId owner, const CheckpointLocation& checkpoint) {
  const auto pinned = pins_.find(pin_key(checkpoint));
  TUNE_ASSERT(pinned != pins_.end());
  if (--pinned->second > 0) return;
  pins_.erase(pinned);
  if (orphans_.erase(pin_key(checkpoint)) > 0) {
    emit(DeleteCheckpoint{checkpoint});
  } else if (TrialRecord* record = find(owner)) {
    trim_checkpoints(*record);
  }
}

std::vector<bool> Engine::Implementation::kept_checkpoints(const TrialRecord& record) const {
  std::vector<double> scores;
  for (const StoredCheckpoint& checkpoint : record.checkpoints) scores.push_back(checkpoint.score);
  return core::kept_checkpoints(scores, options_.checkpoint,
                                checkpoint_objective_ ? checkpoint_objective_->mode : Mode::min);
}

// Deletes what need not be kept, but nothing that a clone still has to take over.
void Engine::Implementation::trim_checkpoints(TrialRecord& record) {
  const std::vector<bool> kept = kept_checkpoints(record);
  std::vector<StoredCheckpoint> left;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const CheckpointLocation checkpoint = location(record, record.checkpoints[i]);
    if (kept[i] || pins_.contains(pin_key(checkpoint))) {
      left.push_back(std::move(record.checkpoints[i]));
    } else {
      emit(DeleteCheckpoint{checkpoint});
    }
  }
  record.checkpoints = std::move(left);
}

// Of a trial that ends: what only its pins keep goes with them.
void Engine::Implementation::keep_orphans(const TrialRecord& record) {
  const std::vector<bool> kept = kept_checkpoints(record);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) orphans_.insert(pin_key(location(record, record.checkpoints[i])));
  }
}

// --- damage

// Takes what this start was to load away from all who might use it. Gives the trials that may have
// nothing left to go on from.
std::vector<TrialId> Engine::Implementation::drop_damaged(TrialRecord& record,
                                                          const std::string& message) {
  TUNE_ASSERT(record.run->source.has_value());
  const CheckpointLocation damaged = *record.run->source;
  const TrialId owner = record.run->source_trial;
  forget_damaged(owner, damaged, message);
  const std::string next = !record.checkpoints.empty()
                               ? "goes back to " + record.checkpoints.back().directory_name
                           : record.damage.empty() ? std::string("starts anew")
                                                   : std::string("no other one is left");
  const std::string cancelled = "it is not taken over";
  emit(RecordWarning{record.id(),
                     message + "; " + (owner == record.id() ? "" : cancelled + "; ") + next});
  std::vector<TrialId> affected{owner};
  for (auto& [id, other] : records_) {
    if (!other.exploit || other.exploit->location() != damaged) continue;
    emit(RecordWarning{id, message + "; " + cancelled});
    cancel_exploit(other);
    if (other.run && other.want == TrialRecord::Want::restart) other.want = TrialRecord::Want::run;
    affected.push_back(id);
  }
  return affected;
}

// It stays on disk, for the user to look at.
void Engine::Implementation::forget_damaged(TrialId owner, const CheckpointLocation& checkpoint,
                                            const std::string& message) {
  if (TrialRecord* record = find(owner)) {
    const auto count = std::erase_if(record->checkpoints, [&](const StoredCheckpoint& own) {
      return own.directory_name == checkpoint.directory_name;
    });
    if (count == 0) return;  // somebody found it before
    record->damage = message;
    record->trial->set_checkpoint_iteration(
        record->checkpoints.empty() ? std::nullopt
                                    : std::optional(record->checkpoints.back().training_iteration));
  }
  orphans_.erase(pin_key(checkpoint));
  emit(RecordCheckpointDamaged{owner, checkpoint.directory_name});
}

// A trial whose checkpoints are all damaged ends as an error: nothing that it did is silently done
// again. `error` is what else went wrong.
bool Engine::Implementation::fail_if_lost(TrialRecord& record, const std::string& error) {
  const bool is_lost = !record.run && !record.has_been_ended() && !record.exploit &&
                       record.checkpoints.empty() && !record.damage.empty() &&
                       record.want != TrialRecord::Want::stop;
  if (!is_lost) return false;
  fail(record, "no usable checkpoint",
       "no usable checkpoint: " + record.damage + (error.empty() ? "" : "\nbefore that: " + error),
       false);
  return true;
}

}  // namespace tune::engine
