#include <utility>
#include <variant>

#include "core/checkpoint_retention.hpp"
#include "engine_implementation.hpp"

namespace tune::engine {

void Engine::Implementation::replay(const Event& event, Time now, const Decisions& decisions,
                                    bool asks_scheduler, std::vector<Command>& commands) {
  tape_.replay(decisions, asks_scheduler);
  try {
    run(Event(event), now, commands);
  } catch (...) {
    tape_.end_replay();  // the recorded decisions are the caller's
    throw;
  }
  tape_.end_replay();
}

void Engine::Implementation::on(const SessionStarted& event) {
  options_ = *event.options;
  checkpoint_objective_ = core::objective_of(options_.checkpoint, options_.objective);
  if (options_.time_budget) {
    // Engine time goes on where it was, so only the time that the experiment runs counts.
    emit(SetTimer{time_budget_timer, *options_.time_budget});
  }
  ++session_;
  if (!started_) return;
  for (const TrialId id : event.reopened) {
    // On its way to an end that does not hold any more.
    TrialRecord* const record = find(id);
    if (record == nullptr || record->has_been_ended()) continue;
    if (record->want == TrialRecord::Want::stop) let_run(*record);
  }
  go_on();
  for (const TrialId id : event.reopened) {
    reopen(id);
    judge_untold(id);
  }
  for (const TrialId id : event.restarted) restart(id);
  if (options_.time_budget && context_.now() >= *options_.time_budget) end_by_time();
  if (tape_.is_replaying()) return;
  ended_.clear();
  keep_ended_ = {};
}

void Engine::Implementation::let_run(TrialRecord& record) {
  record.want = TrialRecord::Want::run;
  record.stop_reason.clear();
  record.fatal_error.clear();
  record.is_beyond_bound = false;
}

// As at the beginning, but with what is known.
void Engine::Implementation::go_on() {
  const bool has_time = !options_.time_budget || context_.now() < *options_.time_budget;
  ending_ = interrupted_ = is_time_up_ = finished_ = false;
  end_reason_.clear();
  end_error_.clear();
  scheduler_failed_ = false;
  searcher_exhausted_ = searcher_waits_ = searcher_has_news_ = false;
  resources_changed_ = true;
  last_fill_ = Fill::idle;
  waiting_for_node_.clear();
  lose_all_nodes();
  std::vector<TrialId> left;
  for (auto& [id, record] : records_) {
    if (record.trial->waits_for_retry()) context_.set_waits_for_retry(id, false);
    if (record.is_interrupted) left.push_back(id);
    if (has_time && !record.is_interrupted) record.is_out_of_time = false;
  }
  for (const TrialId id : left) take_up(id, has_time);
  withdraw_ask();
}

// One that an interrupt left, by what was decided on it since.
void Engine::Implementation::take_up(TrialId id, bool has_time) {
  TrialRecord* const record = find(id);
  if (record == nullptr) return;
  const bool had_been_ended = record->has_been_ended();
  if (had_been_ended) {
    --counts_.terminated;
    ++counts_.of(record->trial->state());
    hold_state(*record, TrialState::pending);
  }
  record->is_interrupted = false;
  if (has_time) record->is_out_of_time = false;
  if (record->want == TrialRecord::Want::stop || record->want == TrialRecord::Want::pause) {
    carry_out(*record);
    carry_out_requests();
  } else if (had_been_ended || record->trial->state() == TrialState::paused) {
    make_pending(*record, had_been_ended ? "reopened" : "resumed");
  }
}

bool Engine::Implementation::has_saved_last(const TrialRecord& record) {
  return !record.checkpoints.empty() &&
         record.checkpoints.back().training_iteration >= record.last.training_iteration;
}

// A clone that was still to be stored as the trial's own is so still.
void Engine::Implementation::keep_clone(TrialRecord& record) {
  const Run& run = *record.run;
  const bool may_be_wanted = record.want == TrialRecord::Want::run && !record.exploit;
  if (!run.adopting || !may_be_wanted) return;
  pin(run.adopting->location());
  record.exploit = run.adopting;
}

void Engine::Implementation::lose_all_nodes() {
  std::vector<TrialId> lost;
  for (auto& [id, record] : records_) {
    if (!record.run) continue;
    if (may_come_back(record)) {
      record.run->is_adrift = true;
    } else {
      lost.push_back(id);
    }
  }
  placement_ = Placement();
  remote_nodes_.clear();
  context_.set_nodes({});
  infeasible_since_.reset();
  for (auto& [id, record] : records_) record.awaited = nullptr;
  take_back(lost);
  begin_driver_grace();
}

// What ran where nothing is left goes back to its last checkpoint.
void Engine::Implementation::take_back(const std::vector<TrialId>& lost) {
  for (const TrialId id : lost) {
    keep_clone(records_.at(id));
    end_run(records_.at(id));
    if (!options_.fixed_cluster) distrust_names(records_.at(id));
  }
  for (const TrialId id : lost) {
    TrialRecord* record = find(id);
    if (!record || record->trial->state() != TrialState::running) continue;
    const bool was_pausing = record->want == TrialRecord::Want::pause;
    if (was_pausing && !has_saved_last(*record)) {
      // Others may go on from its pause: it shall be where it was decided.
      record->want = TrialRecord::Want::run;
      record->pause_at = record->last.training_iteration;
      make_pending(*record, "resumed");
    } else if (was_pausing || record->want == TrialRecord::Want::stop) {
      carry_out(*record);  // what was decided stays decided
    } else {
      make_pending(*record, "resumed");
    }
    carry_out_requests();
  }
}

// The answer will not come; or it came when it could not be used.
void Engine::Implementation::withdraw_ask() {
  next_trial_ -= static_cast<std::uint64_t>(counts_.asked);
  counts_.asked = 0;
  if (!late_suggestion_) return;
  const SuggestionReady late = *std::exchange(late_suggestion_, std::nullopt);
  if (std::holds_alternative<Config>(late.suggestion)) {
    ++counts_.asked;
    on(late);
  } else {
    next_trial_ = late.trial.value();
  }
}

bool Engine::Implementation::is_kept(const TrialRecord& record, TrialState state) const {
  if (keep_ended_.named.contains(record.id())) return true;
  if (state == TrialState::error) return keep_ended_.failed && !record.is_infeasible;
  return keep_ended_.beyond_bound && record.is_beyond_bound;
}

Reopenable Engine::Implementation::reopenable() const {
  Reopenable found;
  const auto add = [&](TrialId id, const TrialRecord& record) {
    if (keep_ended_.beyond_bound && record.is_beyond_bound) found.beyond_bound.push_back(id);
  };
  for (const auto& [id, ended] : ended_) {
    const auto finished = context_.finished_trials().find(id);
    if (finished == context_.finished_trials().end()) continue;  // it goes on
    if (finished->second.state != TrialState::error) {
      add(id, ended.record);
    } else if (keep_ended_.failed && !ended.record.is_infeasible) {
      found.failed.push_back(id);
    }
  }
  for (const auto& [id, record] : records_) {
    if (keep_ended_.out_of_time && record.is_out_of_time) {
      found.out_of_time.push_back(id);
    } else if (record.want == TrialRecord::Want::stop) {
      add(id, record);
    }
  }
  return found;
}

void Engine::Implementation::reopen(TrialId id) {
  TrialRecord* const record = revive(id);
  if (record == nullptr) return;
  make_pending(*record, "reopened");
  tell_added(*record);
}

// What a trial reported on its way to an end that does not hold any more was judged by nobody.
void Engine::Implementation::judge_untold(TrialId id) {
  TrialRecord* const record = find(id);
  if (record == nullptr || record->last.training_iteration <= record->decided_until) return;
  record->decided_until = record->last.training_iteration;
  const CriteriaAnswer verdict = ask_stop_criteria(*record, record->last);
  if (!verdict.stop_trial.empty()) stop(*record, verdict.stop_trial);
}

void Engine::Implementation::restart(TrialId id) {
  TrialRecord* const record = revive(id);
  if (record == nullptr) return;
  for (const StoredCheckpoint& checkpoint : record->checkpoints) {
    emit(DeleteCheckpoint{location(*record, checkpoint)});
  }
  drop_saves(*record, record->saves.drop_from(0));
  Trial fresh(id, record->first_config);
  fresh.set_name(record->trial->name());
  fresh.set_incarnation(record->trial->incarnation());
  TrialRecord anew;
  anew.first_config = record->first_config;
  anew.recorded_exploit = record->recorded_exploit;
  anew.trial = &context_.add(std::move(fresh));
  *record = std::move(anew);
  context_.set_state(id, TrialState::error);  // what it is until now
  make_pending(*record, "restarted");
  emit(RecordRestarted{id});
  tell_added(*record);
}

// Makes an ended trial live again, in the state in which it ended.
TrialRecord* Engine::Implementation::revive(TrialId id) {
  const auto found = ended_.find(id);
  if (found == ended_.end() || find(id) != nullptr) return nullptr;
  TrialRecord& record = records_.add(id, std::move(found->second.record));
  record.trial = &context_.add(std::move(found->second.trial));
  ended_.erase(found);
  context_.unfinish(id);
  record.trial->set_failures(0);
  let_run(record);
  return &record;
}

}  // namespace tune::engine
