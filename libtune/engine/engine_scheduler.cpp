#include <cmath>
#include <exception>
#include <stdexcept>
#include <utility>

#include <tune/error.hpp>

#include "core/checkpoint_retention.hpp"
#include "core/objective.hpp"
#include "core/option_name.hpp"
#include "engine_implementation.hpp"

namespace tune::engine {
namespace {

using core::resolve;

}  // namespace

Engine::Implementation::Implementation(EngineOptions options,
                                       std::unique_ptr<TrialScheduler> scheduler)
    : options_(std::move(options)),
      scheduler_(std::move(scheduler)),
      context_(Mode::min),
      scheduler_objective_(resolve(scheduler_->objective(), options_.objective)),
      searcher_objective_(resolve(options_.searcher_objective, options_.objective)),
      checkpoint_objective_(core::objective_of(options_.checkpoint, options_.objective)),
      time_attr_(scheduler_->time_attr()),
      scheduler_name_(core::option_name(scheduler_->options(), "scheduler")),
      stop_(options_.stop, options_.objective) {
  if (!options_.resources.of) {
    request_ = std::make_shared<const ResourceRequest>(options_.resources);
  }
  if (options_.checkpoint.keep < 1) {
    throw std::invalid_argument("checkpoint.keep must be at least 1, is " +
                                std::to_string(options_.checkpoint.keep));
  }
  if (options_.checkpoint.keep_best < 0) {
    throw std::invalid_argument("checkpoint.keep_best must be at least 0, is " +
                                std::to_string(options_.checkpoint.keep_best));
  }
  if (scheduler_->needs_checkpoints() && !options_.trainable_checkpoints) {
    throw std::invalid_argument("scheduler " + scheduler_name_ +
                                " needs checkpoints, which the trainable cannot save");
  }
  if (scheduler_->needs_metric() && !scheduler_objective_) {
    throw std::invalid_argument("scheduler " + scheduler_name_ +
                                " needs a metric and a mode, and the experiment has none");
  }
  if (request_) check_bounded(*request_);
  context_ = SchedulerContext(scheduler_objective_ ? scheduler_objective_->mode : Mode::min,
                              options_.seed);
}

// Calls the user's scheduler; a throw ends the experiment, and the scheduler is not called again.
// In a replay the recorded answer takes the place of what it says.
template <class Call>
SchedulerAnswer Engine::Implementation::ask_scheduler(const char* method,
                                                      std::optional<TrialId> trial, Call call) {
  if (scheduler_failed_) return {};
  context_.set_new_trials(new_trials());
  OutsideAnswer answer = tape_.settle<SchedulerAnswer>([&]() -> OutsideAnswer {
    const std::size_t before = context_.request_count();
    SchedulerAnswer given;
    std::string fault;
    try {
      call(given);
    } catch (const std::exception& e) {
      fault = e.what();
    } catch (...) {
      fault = "unknown exception";
    }
    given.requests = context_.take_requests_from(before);
    if (fault.empty()) return given;
    return AnswerFault{std::string("threw in ") + method +
                       (trial ? " of trial " + std::to_string(trial->value()) : std::string()) +
                       ": " + fault};
  });
  if (const auto* fault = std::get_if<AnswerFault>(&answer)) {
    scheduler_fault(fault->text);
    return {};
  }
  auto& given = std::get<SchedulerAnswer>(answer);
  if (!given.requests.empty()) context_.put_requests(std::exchange(given.requests, {}));
  return std::move(given);
}

void Engine::Implementation::scheduler_fault(const std::string& text) {
  scheduler_failed_ = true;
  (void)context_.take_requests();
  break_off("the scheduler failed", "scheduler " + scheduler_name_ + " " + text);
}

void Engine::Implementation::tell_added(TrialRecord& record) {
  (void)ask_scheduler("on_trial_added", record.id(), [&](SchedulerAnswer&) {
    scheduler_->on_trial_added(context_, *record.trial);
  });
}

Decision Engine::Implementation::tell_result(TrialRecord& record, const Result& result) {
  Trial& trial = *record.trial;
  trial.add_result(result);
  const double target = result.target();
  if (std::isfinite(target) &&
      (!trial.best() || is_better(context_.mode(), target, *trial.best()))) {
    trial.set_best(target);
  }
  return ask_scheduler("on_trial_result", record.id(),
                       [&](SchedulerAnswer& answer) {
                         answer.decision = scheduler_->on_trial_result(context_, trial, result);
                       })
      .decision;
}

void Engine::Implementation::tell_completed(TrialRecord& record) {
  Result last = record.last;
  last.set_target(target_of(scheduler_objective_, last));
  (void)ask_scheduler("on_trial_completed", record.id(), [&](SchedulerAnswer&) {
    scheduler_->on_trial_completed(context_, *record.trial, last);
  });
}

void Engine::Implementation::tell_failed(TrialRecord& record) {
  (void)ask_scheduler("on_trial_failed", record.id(), [&](SchedulerAnswer&) {
    scheduler_->on_trial_failed(context_, *record.trial);
  });
}

NewTrials Engine::Implementation::new_trials() const {
  if (counts_.asked > 0) return NewTrials::possible;
  if (!may_have_more_trials()) return NewTrials::none;
  return searcher_waits_ ? NewTrials::waiting : NewTrials::possible;
}

SchedulerAnswer Engine::Implementation::choose() {
  return ask_scheduler("choose_trial_to_run", std::nullopt, [&](SchedulerAnswer& answer) {
    const bool has_none_asked = counts_.asked == 0;
    if (has_none_asked && new_trials() == NewTrials::possible && !has_room_for_another()) {
      context_.set_new_trials(NewTrials::no_room);
    }
    answer.choice = scheduler_->choose_trial_to_run(context_);
    answer.hold = context_.take_hold();
  });
}

void Engine::Implementation::carry_out_requests() {
  while (context_.has_requests()) {
    for (const SchedulerRequest& request : context_.take_requests()) {
      std::visit([this](const auto& r) { on(r); }, request);
    }
  }
}

void Engine::Implementation::on(const StopTrial& request) {
  if (TrialRecord* record = find(request.trial)) {
    if (record->want != TrialRecord::Want::stop) record->stopped_by_scheduler = true;
    stop(*record, "stopped by " + scheduler_name_);
  }
}

void Engine::Implementation::on(const PauseTrial& request) {
  if (TrialRecord* record = find(request.trial)) pause(*record);
}

void Engine::Implementation::on(const UnpauseTrial& request) {
  TrialRecord* record = find(request.trial);
  if (!record || record->want == TrialRecord::Want::stop) return;
  if (record->want == TrialRecord::Want::pause) record->want = TrialRecord::Want::run;
  record->pause_at.reset();
  carry_out(*record);
}

void Engine::Implementation::on(const SaveTrial& request) {
  TrialRecord* record = find(request.trial);
  if (!record || !record->run || record->run->stop_sent || record->run->is_adrift) return;
  if (!options_.trainable_checkpoints) {
    emit(RecordWarning{record->id(), "not saved: the trainable cannot save checkpoints"});
    return;
  }
  emit(Save{record->id(), record->run->incarnation, record->run->grant.node});
}

void Engine::Implementation::on(const ExploitTrial& request) {
  TrialRecord* target = find(request.target);
  if (!target || target->want == TrialRecord::Want::stop) return;
  if (ending_ && !interrupted_) return;
  const TrialRecord* donor = find(request.source);
  if (!donor || donor->checkpoints.empty()) return;  // gone since it was asked for
  const PendingExploit exploit{request.source, donor->checkpoints.back(), donor->trial->name(),
                               target->trial->config(), request.config};
  pin(exploit.location());
  cancel_exploit(*target);
  target->exploit = exploit;
  target->pause_at.reset();
  target->want = TrialRecord::Want::restart;
  carry_out(*target);
}

void Engine::Implementation::on(const ChangeResources& request) {
  TrialRecord* record = find(request.trial);
  if (!record) return;
  record->resources = request.resources;
  has_own_requests_ = true;
  resources_changed_ = true;  // a start that had no room may have it now
  if (!record->run || record->want != TrialRecord::Want::run) return;
  if (!options_.trainable_checkpoints) {
    emit(RecordWarning{record->id(),
                       "other resources only from its next start: the trainable "
                       "cannot save checkpoints"});
    return;
  }
  record->want = TrialRecord::Want::restart;
  carry_out(*record);
}

void Engine::Implementation::on(const DecisionHorizon& request) {
  TrialRecord* record = find(request.trial);
  if (!record) return;
  const bool is_earlier = record->no_decision_before && request.time < *record->no_decision_before;
  record->no_decision_before = request.time;
  // A later one comes with the next Proceed; of an earlier one the trial must know now.
  if (!record->run || !is_earlier) return;
  Run& run = *record->run;
  if (run.is_adrift) return;  // with its adoption
  if (run.stop_sent || run.pause_sent || run.horizon.is_reached(record->last)) return;
  const Horizon horizon = horizon_of(*record);
  if (horizon == run.horizon) return;
  run.horizon = horizon;
  emit(Proceed{record->id(), run.incarnation, run.grant.node, horizon});
}

void Engine::Implementation::on(const Explanation& request) {
  emit(RecordExplanation{request.trial, request.reason});
}

}  // namespace tune::engine
