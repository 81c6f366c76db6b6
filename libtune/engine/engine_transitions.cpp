#include <algorithm>
#include <cmath>

#include <tune/error.hpp>

#include "core/number_text.hpp"
#include "engine_implementation.hpp"

namespace tune::engine {

void Engine::Implementation::hold_state(TrialRecord& record, TrialState state) {
  --counts_.of(record.trial->state());
  ++counts_.of(state);
  context_.set_state(record.id(), state);
  if (state == TrialState::pending || state == TrialState::paused) resources_changed_ = true;
}

void Engine::Implementation::set_state(TrialRecord& record, TrialState state,
                                       const std::string& reason, const std::string& error) {
  hold_state(record, state);
  if (state == TrialState::running) return;  // RecordTrialStarted tells
  emit(RecordTrialState{record.id(), record.trial->incarnation(), state, reason, error});
}

// Does what `want` says as far as the trial's actual state allows it now.
void Engine::Implementation::carry_out(TrialRecord& record) {
  using Want = TrialRecord::Want;
  const bool is_given_up =
      record.want == Want::stop || (record.want == Want::restart && record.exploit);
  if (record.run && record.run->is_adrift) {
    if (!is_given_up) return;  // it hears of it when its node is back
    give_up_adrift(record);
  }
  if (record.run) {
    Run& run = *record.run;
    const bool ends = interrupted_ || is_given_up;
    const bool pauses = record.want == Want::pause || record.want == Want::restart;
    if (ends && !run.stop_sent) {
      run.stop_sent = true;
      const bool is_wanted = record.want == Want::stop
                                 ? record.fatal_error.empty() && options_.checkpoint.at_end
                                 : interrupted_;
      const bool save = is_wanted && options_.trainable_checkpoints;
      emit(Stop{record.id(), run.incarnation, run.grant.node, save});
    } else if (!ends && pauses && !run.pause_sent && !run.stop_sent) {
      run.pause_sent = true;
      emit(Pause{record.id(), run.incarnation, run.grant.node});
    }
    return;
  }
  if (record.has_been_ended()) return;  // with more time
  switch (record.want) {
    case Want::stop:
      if (record.fatal_error.empty()) {
        terminate(record, record.stop_reason);
      } else {
        fail(record, "no usable result", record.fatal_error, false);
      }
      break;
    case Want::pause:
      record.is_out_of_time = record.is_interrupted = false;
      if (fail_if_lost(record)) break;
      record.want = Want::run;  // from now on it is what it is: paused
      if (record.trial->state() != TrialState::paused) {
        set_state(record, TrialState::paused, "paused by " + scheduler_name_);
      }
      break;
    case Want::restart:
      make_pending(record, record.exploit ? "exploits trial " +
                                                std::to_string(record.exploit->source_id.value())
                                          : "other resources");
      break;
    case Want::run:
      if (record.trial->state() == TrialState::paused) make_pending(record, "unpaused");
      break;
  }
}

void Engine::Implementation::stop(TrialRecord& record, const std::string& reason) {
  if (record.want == TrialRecord::Want::stop) return;
  record.want = TrialRecord::Want::stop;
  record.stop_reason = reason;
  cancel_exploit(record);
  carry_out(record);
}

void Engine::Implementation::fail_for_good(TrialRecord& record, const std::string& error) {
  if (record.want == TrialRecord::Want::stop) return;
  record.fatal_error = error;
  stop(record, error);
}

void Engine::Implementation::pause(TrialRecord& record) {
  if (record.want == TrialRecord::Want::stop) return;
  if (record.run && !options_.trainable_checkpoints) {
    scheduler_fault("paused trial " + std::to_string(record.id().value()) +
                    ", but the trainable cannot save checkpoints; a scheduler that pauses says so "
                    "in needs_checkpoints()");
    return;
  }
  record.want = TrialRecord::Want::pause;
  record.pause_at.reset();
  carry_out(record);
}

void Engine::Implementation::end_run(TrialRecord& record) {
  TUNE_ASSERT(record.run.has_value());
  if (!record.run->is_adrift) placement_.release(record.run->grant);
  resources_changed_ = true;
  end_adoption(*record.run);  // a clone that never became the trial's own is cancelled
  record.run.reset();
}

// An interrupt has ended this start, and not the trial.
void Engine::Implementation::leave_unfinished(TrialRecord& record) {
  if (record.want == TrialRecord::Want::pause) {
    carry_out(record);  // what was decided stays decided
    return;
  }
  if (fail_if_lost(record)) return;
  rest(record);
}

void Engine::Implementation::rest(TrialRecord& record) {
  record.is_interrupted = true;
  const TrialState state = record.checkpoints.empty() ? TrialState::pending : TrialState::paused;
  if (!record.is_out_of_time) return set_state(record, state, "interrupted: " + end_reason_);
  hold_state(record, state);
  --counts_.of(state);
  ++counts_.terminated;
  emit(RecordTrialState{
      record.id(), record.trial->incarnation(), TrialState::terminated, end_reason_, {}});
}

void Engine::Implementation::retry_or_fail(TrialRecord& record, const std::string& error) {
  Trial& trial = *record.trial;
  trial.set_failures(trial.failures() + 1);
  if (options_.max_failures >= 0 && trial.failures() > options_.max_failures) {
    fail(record,
         trial.failures() > 1 ? "failed " + std::to_string(trial.failures()) + " times"
                              : std::string("failed"),
         error, false);
    return;
  }
  begin_retry_pause(record);
  if (record.want == TrialRecord::Want::pause) {
    // The pause was decided and stands; it will go on from its last checkpoint.
    emit(RecordWarning{record.id(), "failed on its way to a pause: " + error});
    carry_out(record);
    return;
  }
  const Time pause = retry_pause_after(trial.failures());
  make_pending(
      record,
      "failed " + std::to_string(trial.failures()) + " time" + (trial.failures() > 1 ? "s" : "") +
          ", goes back to " +
          (record.checkpoints.empty()
               ? std::string("the start")
               : "iteration " + std::to_string(record.checkpoints.back().training_iteration)) +
          (pause > Time(0) ? " in " + core::number_text(pause.count()) + " s" : std::string()),
      error);
}

Time Engine::Implementation::retry_pause_after(std::int64_t failures) const {
  constexpr std::int64_t most_doublings = 2000;  // of the least double there is
  const auto doublings = static_cast<int>(std::min(failures - 1, most_doublings));
  const Time pause(std::ldexp(options_.retry_pause.count(), doublings));
  return std::min(pause, options_.max_retry_pause);
}

void Engine::Implementation::begin_retry_pause(TrialRecord& record) {
  const Time pause = retry_pause_after(record.trial->failures());
  if (pause <= Time(0)) return;
  context_.set_waits_for_retry(record.id(), true);
  emit(SetTimer{retry_timer(record.id()), context_.now() + pause});
}

void Engine::Implementation::make_pending(TrialRecord& record, const std::string& reason,
                                          const std::string& error) {
  record.want = TrialRecord::Want::run;
  if (fail_if_lost(record, error)) return;
  set_state(record, TrialState::pending, reason, error);
}

void Engine::Implementation::terminate(TrialRecord& record, const std::string& reason) {
  set_state(record, TrialState::terminated, reason);
  tell_completed(record);
  searcher_waits_ = false;
  searcher_has_news_ = true;
  Result last = record.last;
  const bool is_reported = searcher_objective_ && last.number(searcher_objective_->metric);
  last.set_target(!is_reported && record.searcher_target ? *record.searcher_target
                                                         : target_of(searcher_objective_, last));
  last.stopped_by_scheduler = record.stopped_by_scheduler;
  emit(TellSearcherCompleted{record.id(), record.trial->config(), std::move(last)});
  forget(record, TrialState::terminated);
}

void Engine::Implementation::fail(TrialRecord& record, const std::string& reason,
                                  const std::string& error, bool infeasible) {
  const TrialId id = record.id();
  record.is_infeasible = infeasible;
  set_state(record, TrialState::error, reason, error);
  tell_failed(record);
  searcher_waits_ = false;
  searcher_has_news_ = true;
  emit(TellSearcherFailed{record.id(), record.trial->config(), infeasible});
  forget(record, TrialState::error);
  if (infeasible) ++counts_.infeasible;
  if (infeasible && options_.max_infeasible > 0 && counts_.infeasible >= options_.max_infeasible) {
    begin_ending("too many invalid configurations",
                 std::to_string(counts_.infeasible) +
                     " trials refused their configuration, the last one with: " + error);
  }
  check_failure_limits(id);
}

void Engine::Implementation::check_failure_limits(TrialId failed) {
  const std::int64_t limit = options_.max_experiment_failures;
  if (options_.fail_fast) {
    interrupt("trial " + std::to_string(failed.value()) + " failed, and fail_fast is set");
  } else if (limit >= 0 && counts_.error > limit) {
    interrupt(std::to_string(counts_.error) + (counts_.error == 1 ? " trial" : " trials") +
              " failed, and max_experiment_failures is " + std::to_string(limit));
  }
}

void Engine::Implementation::forget(TrialRecord& record, TrialState state) {
  const TrialId id = record.id();
  cancel_exploit(record);
  stop_.on_trial_ended(id);
  resources_changed_ = true;
  keep_orphans(record);
  const double target = target_of(scheduler_objective_, record.last);
  if (is_kept(record, state)) {
    EndedTrial& kept = ended_[id] = {std::move(record), *context_.find(id)};
    kept.record.trial = nullptr;
  }
  records_.erase(id);
  context_.finish(id, FinishedTrial{state, target});
}

}  // namespace tune::engine
