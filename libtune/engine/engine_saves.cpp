#include <utility>

#include "engine_implementation.hpp"

namespace tune::engine {

void Engine::Implementation::on(TrialRecord& record, const Saved& report) {
  for (const SavedValue& replaced : record.saves.put(report.saved)) {
    if (replaced.directory_name != report.saved.directory_name) delete_files(record, replaced);
  }
  emit(RecordSaved{record.id(), record.run->incarnation, report.saved});
  std::vector<std::int64_t> iterations{record.run->training_iteration};
  for (const StoredCheckpoint& checkpoint : record.checkpoints) {
    iterations.push_back(checkpoint.training_iteration);
  }
  if (record.checkpoints.empty()) iterations.push_back(0);
  drop_saves(record, record.saves.keep_for(iterations));
}

// Until the next result nothing is lost: a start that fails before it goes back as if nothing had
// been said.
void Engine::Implementation::on(TrialRecord& record, const WentBack& report) {
  Run& run = *record.run;
  if (report.training_iteration < 0 || report.training_iteration > run.training_iteration) {
    fail_for_good(record, "went back to iteration " + std::to_string(report.training_iteration) +
                              " from iteration " + std::to_string(run.training_iteration));
    return;
  }
  run.training_iteration = report.training_iteration;
}

// What a trial that went back had of this iteration and later ones makes way for its result.
void Engine::Implementation::drop_later(TrialRecord& record, std::int64_t iteration) {
  drop_saves(record, record.saves.drop_from(iteration));
  drop_later_checkpoints(record, iteration);
}

void Engine::Implementation::drop_later_checkpoints(TrialRecord& record, std::int64_t iteration) {
  const auto is_later = [&](const StoredCheckpoint& checkpoint) {
    return checkpoint.training_iteration >= iteration;
  };
  bool has_dropped = false;
  for (const StoredCheckpoint& checkpoint : record.checkpoints) {
    if (!is_later(checkpoint)) continue;
    has_dropped = true;
    const CheckpointLocation place = location(record, checkpoint);
    if (pins_.contains({place.trial_name, place.directory_name})) {
      orphans_.insert({place.trial_name, place.directory_name});
    } else {
      emit(DeleteCheckpoint{place});
    }
  }
  if (!has_dropped) return;
  std::erase_if(record.checkpoints, is_later);
  record.trial->set_checkpoint_iteration(
      record.checkpoints.empty() ? std::nullopt
                                 : std::optional(record.checkpoints.back().training_iteration));
}

void Engine::Implementation::drop_saves(TrialRecord& record,
                                        const std::vector<SavedValue>& dropped) {
  for (const SavedValue& saved : dropped) {
    emit(RecordSavedDropped{record.id(), saved.name, saved.index});
    delete_files(record, saved);
  }
}

void Engine::Implementation::delete_files(const TrialRecord& record, const SavedValue& saved) {
  if (saved.directory_name.empty()) return;
  emit(DeleteCheckpoint{{record.trial->name(), saved.directory_name}});
}

}  // namespace tune::engine
