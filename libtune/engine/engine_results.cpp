#include <algorithm>
#include <cmath>
#include <limits>

#include "core/number_text.hpp"
#include "engine_implementation.hpp"

namespace tune::engine {

namespace {

std::string iteration_text(std::int64_t iteration) {
  return "iteration " + std::to_string(iteration);
}

using core::number_text;

}  // namespace

double Engine::Implementation::target_of(const std::optional<Objective>& objective,
                                         const Result& result) const {
  if (!objective) return worst_value();
  const MetricValue* value = result.metrics.find(objective->metric);
  if (value && value->is_number()) return value->as_double();
  return result.number(objective->metric).value_or(worst_value());
}

void Engine::Implementation::on(TrialRecord&, const Started&) {}

void Engine::Implementation::on(TrialRecord& record, Reported& report) {
  Run& run = *record.run;
  if (report.result.training_iteration != run.training_iteration + 1) {
    fail_for_good(record, "reported " + iteration_text(report.result.training_iteration) +
                              " after " + iteration_text(run.training_iteration));
    return;
  }
  const bool is_last = report.result.done;
  Result result = std::move(report.result);
  result.set_target(target_of(scheduler_objective_, result));
  run.training_iteration = result.training_iteration;
  record.has_reported = true;
  drop_later(record, result.training_iteration);
  record_exploit(record);
  if (result.done) run.stop_sent = true;  // it ends by itself: nothing need be said to it
  if (result.training_iteration <= record.decided_until) {
    judge_again(record, std::move(result));
  } else if (record.want == TrialRecord::Want::stop) {
    // Decided before: what comes until the trial ends is recorded, not told.
    set_last(record, result);
    emit(RecordResult{record.id(), run.incarnation, std::move(result)});
  } else {
    judge(record, std::move(result));
  }
  // A recorded end is an end, even if its node is lost before the trial says so.
  if (is_last) stop(record, "trainable finished");
}

// One may report the metric at every fifth result alone: its newest value is what a trial reached.
void Engine::Implementation::set_last(TrialRecord& record, const Result& result) {
  if (searcher_objective_ && !result.number(searcher_objective_->metric) &&
      record.last.number(searcher_objective_->metric)) {
    record.searcher_target = target_of(searcher_objective_, record.last);
  }
  record.last = result;
}

// A result that was told before the trial went back to a checkpoint: nobody is told twice.
void Engine::Implementation::judge_again(TrialRecord& record, Result result) {
  set_last(record, result);
  emit(RecordResult{record.id(), record.run->incarnation, std::move(result)});
  if (record.pause_at && record.last.training_iteration >= *record.pause_at) pause(record);
}

void Engine::Implementation::judge(TrialRecord& record, Result result) {
  record.decided_until = result.training_iteration;
  record.node_losses = 0;
  const bool is_reported_end = result.done;
  const Missing missing = missing_fields(result);
  const bool is_first = record.last.training_iteration == 0;
  const bool is_fatal =
      missing.is_wrong_type || (!missing.text.empty() && is_first && options_.strict_metric);
  const bool is_told = missing.text.empty() && has_progressed(record, result);
  Decision decision = Decision::proceed;
  if (is_told) {
    decision = tell_result(record, result);
  }
  // A predicate, or a searcher, need not expect a result that is an error in itself.
  const CriteriaAnswer verdict = is_fatal ? CriteriaAnswer{} : ask_stop_criteria(record, result);
  const bool stops =
      decision == Decision::stop || !verdict.stop_trial.empty() || !verdict.stop_experiment.empty();
  if (stops && !result.done) {
    result.done = true;
    if (is_told) record.trial->replace_last_result(result);
  }
  set_last(record, result);
  emit(RecordResult{record.id(), record.run->incarnation, std::move(result)});
  if (!is_fatal) tell_searcher(record, record.last);

  if (!verdict.stop_experiment.empty()) begin_ending(verdict.stop_experiment);
  if (is_fatal) {
    fail_for_good(record, missing.text);
  } else if (stops) {
    const std::string& criterion =
        verdict.stop_trial.empty() ? verdict.stop_experiment : verdict.stop_trial;
    record.stopped_by_scheduler = criterion.empty() && !is_reported_end;
    stop(record, criterion.empty() ? "stopped by " + scheduler_name_ : criterion);
  } else if (decision == Decision::pause && !record.last.done) {
    pause(record);
  }
}

// Plateaus learn from each result, so the criteria are asked in a replay, too.
CriteriaAnswer Engine::Implementation::ask_stop_criteria(TrialRecord& record,
                                                         const Result& result) {
  StopEvaluator::Verdict today;
  OutsideAnswer answer = tape_.settle<CriteriaAnswer>(
      [&]() -> OutsideAnswer {
        try {
          today = stop_.on_result(*record.trial, result);
          return CriteriaAnswer{today.stop_trial, today.stop_experiment};
        } catch (const std::exception& e) {
          return AnswerFault{e.what()};
        } catch (...) {
          return AnswerFault{"unknown exception"};
        }
      },
      /*always_asks=*/true);
  if (const auto* fault = std::get_if<AnswerFault>(&answer)) {
    break_off("a stop criterion failed",
              "stop criterion threw at trial " + std::to_string(record.id().value()) + ", " +
                  iteration_text(result.training_iteration) + ": " + fault->text);
    return {};
  }
  auto& verdict = std::get<CriteriaAnswer>(answer);
  record.is_beyond_bound = tape_.is_replaying() && !result.done && !verdict.stop_trial.empty() &&
                           today.stop_trial.empty();
  return std::move(verdict);
}

// Without which missing_fields() finds fault with a result.
std::vector<std::string> Engine::Implementation::needed_fields() const {
  std::vector<std::string> fields;
  if (time_attr_ != "training_iteration") fields.push_back(time_attr_);
  for (const auto* objective : {&scheduler_objective_, &options_.objective}) {
    if (*objective) fields.push_back((*objective)->metric);
  }
  fields.erase(std::unique(fields.begin(), fields.end()), fields.end());  // of the two metrics
  return fields;
}

Engine::Implementation::Missing Engine::Implementation::missing_fields(const Result& result) const {
  // In words only where something is missing: every result comes by here.
  const auto where = [&] { return iteration_text(result.training_iteration); };
  for (const auto* objective : {&scheduler_objective_, &options_.objective}) {
    if (!*objective) continue;
    const std::string& metric = (*objective)->metric;
    const MetricValue* value = result.metrics.find(metric);
    if (value && !value->is_number()) {
      return {"metric \"" + metric + "\" is " + std::string(value->type_name()) + " (" +
                  value->json().dump() + ") at " + where() + ", want a number",
              true};
    }
    if (!value && !result.number(metric)) {
      return {where() + " has no metric \"" + metric + "\"; it has: " + result.metrics.names()};
    }
  }
  if (!result.number(time_attr_)) {
    return {where() + " has no \"" + time_attr_ +
            "\", by which the scheduler measures progress; it has: " + result.metrics.names()};
  }
  return {};
}

// Progress that does not grow is no news to a scheduler.
bool Engine::Implementation::has_progressed(TrialRecord& record, const Result& result) {
  const double progress = result.number(time_attr_).value_or(worst_value());
  if (!std::isfinite(progress)) {
    // Kept, it would hide all that comes after: nothing is greater than NaN or infinity.
    if (!record.warned_nan_progress) {
      record.warned_nan_progress = true;
      emit(RecordWarning{record.id(), time_attr_ + " is " + number_text(progress) + " at " +
                                          iteration_text(result.training_iteration) +
                                          "; the scheduler is not told of such results"});
    }
    return false;
  }
  if (!record.progress || progress > *record.progress) {
    record.progress = progress;
    return true;
  }
  if (!record.warned_progress) {
    record.warned_progress = true;
    emit(RecordWarning{record.id(),
                       time_attr_ + " goes backwards: " + number_text(*record.progress) + " -> " +
                           number_text(progress) + "; the scheduler is not told of such results"});
  }
  return false;
}

void Engine::Implementation::tell_searcher(const TrialRecord& record, const Result& result) {
  if (!options_.searcher_wants_results) return;
  if (searcher_objective_ && !result.number(searcher_objective_->metric)) return;
  Result told = result;
  told.set_target(target_of(searcher_objective_, result));
  searcher_waits_ = false;
  searcher_has_news_ = true;
  emit(TellSearcherResult{record.id(), record.trial->config(), std::move(told)});
}

Horizon Engine::Implementation::horizon_of(const TrialRecord& record) const {
  const std::int64_t now_at = record.run->training_iteration;
  Horizon horizon;
  horizon.decided_until = std::max(now_at, record.decided_until);
  if (!record.no_decision_before) {
    horizon.every_result = true;
  } else if (*record.no_decision_before < std::numeric_limits<double>::infinity()) {
    horizon.bounds.push_back({time_attr_, *record.no_decision_before, false});
  }
  if (!record.has_reported && options_.strict_metric) horizon.first_needs = needed_fields();
  if (record.pause_at) {
    horizon.decided_until = std::min(horizon.decided_until, *record.pause_at - 1);
    horizon.bounds.push_back({"training_iteration", static_cast<double>(*record.pause_at), false});
  }
  stop_.add_bounds(horizon);
  // Until there it repeats what was decided already, and that stands.
  if (record.pause_at) {
    for (Horizon::Bound& bound : horizon.bounds) bound.ends = false;
  }
  return horizon;
}

void Engine::Implementation::continue_if_waiting(TrialRecord& record) {
  Run& run = *record.run;
  if (run.stop_sent || run.pause_sent) return;
  if (!run.horizon.is_reached(record.last)) return;
  run.horizon = horizon_of(record);
  emit(Proceed{record.id(), run.incarnation, run.grant.node, run.horizon});
}

void Engine::Implementation::on(TrialRecord& record, const CheckpointFailed& report) {
  emit(RecordWarning{record.id(), "checkpoint at " + iteration_text(report.training_iteration) +
                                      " failed: " + report.message});
}

void Engine::Implementation::on(TrialRecord& record, const Warned& report) {
  emit(RecordWarning{record.id(), report.text});
}

void Engine::Implementation::on(TrialRecord& record, const Ended& report) {
  if (report.kind == EndKind::abandoned) {
    placement_.lose(record.run->grant);
    context_.set_nodes(placement_.capacities());
    record.run->grant = {.node = record.run->grant.node, .resources = {}};  // nothing comes back
  }
  std::vector<TrialId> affected;
  if (report.kind == EndKind::damaged) affected = drop_damaged(record, report.message);
  settle_end(record, report);
  for (const TrialId id : affected) {
    if (TrialRecord* other = find(id)) fail_if_lost(*other);
  }
}

void Engine::Implementation::settle_end(TrialRecord& record, const Ended& report) {
  const std::string lost_workers = std::move(record.run->lost_workers);
  end_run(record);
  const bool is_stopped = record.want == TrialRecord::Want::stop;
  const bool lacks_result = !record.has_reported && options_.strict_metric && options_.objective;
  const bool ended_well = report.kind == EndKind::finished && !lacks_result;
  if (interrupted_ && !is_stopped && !ended_well) {
    if (!report.message.empty() && report.kind != EndKind::damaged) {
      emit(RecordWarning{record.id(), "failed while it was interrupted: " + report.message});
    }
    leave_unfinished(record);
    return;
  }
  switch (report.kind) {
    case EndKind::finished:
      record.is_out_of_time = false;  // it would have ended by itself
      if (is_stopped) {
        carry_out(record);
      } else if (lacks_result) {
        fail(record, "no result", "ended without reporting a result", false);
      } else {
        terminate(record, "trainable finished");
      }
      break;
    case EndKind::stopped:
    case EndKind::paused:
      if (record.want == TrialRecord::Want::run) {
        // What it was to end for is cancelled, or it lost some of its workers.
        make_pending(record, lost_workers.empty() ? "to go on" : lost_workers);
      } else {
        carry_out(record);
      }
      break;
    case EndKind::failed:
      if (is_stopped) {
        emit(RecordWarning{record.id(), "failed on its way to the end: " + report.message});
        carry_out(record);
      } else if (!lost_workers.empty()) {
        emit(RecordWarning{record.id(), lost_workers + "; then it failed: " + report.message});
        if (record.want == TrialRecord::Want::run) {
          make_pending(record, lost_workers);
        } else {
          carry_out(record);
        }
      } else {
        retry_or_fail(record, report.message);
      }
      break;
    case EndKind::invalid:
      if (is_stopped) {
        carry_out(record);
      } else {
        fail(record, "invalid configuration", report.message, true);
      }
      break;
    case EndKind::damaged:
      if (record.want == TrialRecord::Want::run) {
        make_pending(record, "goes back behind a damaged checkpoint");
      } else {
        carry_out(record);  // what was decided stays decided
      }
      break;
    case EndKind::abandoned:
      fail(record, "did not stop", report.message, false);
      break;
  }
}

}  // namespace tune::engine
