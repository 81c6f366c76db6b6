#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>

#include <tune/error.hpp>
#include <tune/random.hpp>

#include "core/number_text.hpp"
#include "engine_implementation.hpp"

namespace tune::engine {

// Gives free slots to the trials that the scheduler chooses, then asks for new ones.
Engine::Implementation::Fill Engine::Implementation::fill_slots() {
  waiting_for_node_.clear();
  Fill fill = Fill::idle;
  while (!ending_) {
    const std::optional<Fill> end = fill_slot();
    carry_out_requests();
    if (!end) continue;
    fill = *end;
    break;
  }
  context_.put_back();
  return waiting_for_node_.empty() || fill == Fill::no_room ? fill : Fill::no_node;
}

// Starts a trial, or says why none can be started.
std::optional<Engine::Implementation::Fill> Engine::Implementation::fill_slot() {
  if (options_.max_concurrent > 0 && counts_.running >= options_.max_concurrent) {
    return Fill::no_room;
  }
  if (!placement_.has_nodes()) return Fill::no_room;
  // With nothing to start the scheduler need not be troubled: it may look at all its trials.
  if (counts_.pending + counts_.paused == 0 && !can_ask()) {
    return may_have_more_trials() && !has_room_for_another() ? Fill::no_room : Fill::idle;
  }
  if (is_full()) return Fill::no_room;
  const SchedulerAnswer choice = choose();
  carry_out_requests();
  if (ending_ || choice.hold) return Fill::idle;
  if (!choice.choice) {
    if (can_ask()) ask();
    return Fill::idle;  // the answer comes as an event
  }
  TrialRecord* record = find(*choice.choice);
  if (!record || record->run) {
    scheduler_fault("chose trial " + std::to_string(choice.choice->value()) +
                    " to run, which is neither pending nor paused");
    return Fill::idle;
  }
  if (record->trial->waits_for_retry()) return Fill::idle;  // the scheduler's choice: as hold()
  return launch(*record);
}

// True if no trial has room, whichever were chosen: a scheduler that is asked all the same decides
// earlier than it has to, and so knows less.
bool Engine::Implementation::is_full() const {
  return request_ && !has_own_requests_ && placement_.could_fit(*request_) &&
         !placement_.fits(*request_);
}

// An exploit brings its own; going back brings back what was in force then.
const Config& Engine::Implementation::config_of_next_start(const TrialRecord& record) const {
  if (record.exploit) return record.exploit->config;
  return record.checkpoints.empty() ? record.first_config : record.checkpoints.back().config;
}

// Any number of trials that ask for nothing has room.
void Engine::Implementation::check_bounded(const ResourceRequest& request) const {
  if (!request.total().amounts().empty() || options_.max_concurrent > 0) return;
  throw std::invalid_argument(
      "resources: a trial that asks for nothing needs max_concurrent to be set");
}

// Calls the user's function. @throws std::runtime_error with the text of what it threw.
ResourceRequest Engine::Implementation::ask_for_resources(const Resources& resources,
                                                          const Config& config) {
  OutsideAnswer answer = tape_.settle<ResourceRequest>([&]() -> OutsideAnswer {
    try {
      return ResourceRequest(resources.of(config));
    } catch (const std::exception& e) {
      return AnswerFault{e.what()};
    } catch (...) {
      return AnswerFault{"unknown exception"};
    }
  });
  if (const auto* fault = std::get_if<AnswerFault>(&answer)) throw std::runtime_error(fault->text);
  return std::get<ResourceRequest>(std::move(answer));
}

SharedRequest Engine::Implementation::request_of(TrialRecord& record) {
  std::string error;
  try {
    const Resources& base = record.resources ? *record.resources : options_.resources;
    const bool is_usual = request_ && !record.resources;
    SharedRequest request = request_;
    if (!is_usual) {
      request = std::make_shared<const ResourceRequest>(
          base.of ? ask_for_resources(base, config_of_next_start(record)) : ResourceRequest(base));
    }
    check_bounded(*request);
    if (!options_.fixed_cluster || placement_.is_feasible(*request)) return request;
    // Not its fault: it stays pending.
    if (is_usual && placement_.is_lost(*request)) return request;
    error = placement_.explain_infeasible(*request);
  } catch (const std::exception& e) {
    error = e.what();
    if (!error.starts_with("resources: ")) error.insert(0, "resources: ");
  } catch (...) {
    error = "resources: unknown exception";
  }
  refuse_request(record, error);
  return nullptr;
}

void Engine::Implementation::refuse_request(TrialRecord& record, const std::string& error) {
  fail(record, "resources", error, false);
  // Where each configuration asks for too much a search without an end would not end.
  ++refused_requests_;
  if (options_.max_infeasible > 0 && refused_requests_ >= options_.max_infeasible) {
    begin_ending("too many refused requests",
                 std::to_string(refused_requests_) +
                     " trials were refused their resources, the last one with: " + error);
  }
}

// True if the usual request fits no node any more, because slots went with trials that did not end.
bool Engine::Implementation::are_slots_lost() const {
  return options_.fixed_cluster && request_ && placement_.is_lost(*request_);
}

// Empty if the next one may have its turn: this one runs, has failed or waits for a node.
std::optional<Engine::Implementation::Fill> Engine::Implementation::launch(TrialRecord& record) {
  const SharedRequest request = request_of(record);
  if (!request) return std::nullopt;
  std::optional<Placement::Grant> grant = placement_.place(*request);
  if (grant) {
    start(record, request, std::move(*grant));
    return std::nullopt;
  }
  // What will be free is kept for it, a gang's place too, lest smaller ones overtake it for ever.
  if (placement_.could_fit(*request)) return Fill::no_room;
  if (!waiting_for_node_.emplace(record.id(), request).second) return Fill::no_node;
  await_node(record, request);
  context_.set_aside(record.id());
  return std::nullopt;
}

// Where all trials ask for the same, the experiment waits: see watch_infeasible().
void Engine::Implementation::await_node(TrialRecord& record, const SharedRequest& request) {
  if (options_.fixed_cluster || request == request_) return;
  if (record.awaited && *record.awaited == *request) return;  // since then
  record.awaited = request;
  record.awaited_since = context_.now();
  const Time end = record.awaited_since + options_.infeasible_timeout;
  if (std::isfinite(end.count())) emit(SetTimer{node_timer(record.id()), end});
}

void Engine::Implementation::give_up_waiting(TrialRecord& record) {
  if (!record.awaited || record.run ||
      context_.now() < record.awaited_since + options_.infeasible_timeout) {
    return;  // it has waited anew since that timer was set
  }
  const SharedRequest request = std::exchange(record.awaited, nullptr);
  if (!placement_.has_nodes() || placement_.could_fit(*request)) return;
  refuse_request(record, no_big_node_text(*request));
}

std::string Engine::Implementation::no_big_node_text(const ResourceRequest& request) const {
  return "no node that is big enough joined within " +
         core::number_text(options_.infeasible_timeout.count()) +
         " s (infeasible_timeout): " + placement_.explain_infeasible(request);
}

// Notes since when nothing can run for want of a node that is big enough for the usual request.
void Engine::Implementation::watch_infeasible() {
  const bool waits = counts_.running == 0 && !options_.fixed_cluster && request_ &&
                     placement_.has_nodes() && !placement_.could_fit(*request_);
  if (!waits) {
    infeasible_since_.reset();
  } else if (!infeasible_since_) {
    infeasible_since_ = context_.now();
    const Time end = *infeasible_since_ + options_.infeasible_timeout;
    if (std::isfinite(end.count())) emit(SetTimer{infeasible_timer, end});
  }
}

// No trial is at fault, and none ends by it: with larger nodes the experiment can go on.
void Engine::Implementation::end_infeasible() {
  if (!infeasible_since_ || ending_ ||
      context_.now() < *infeasible_since_ + options_.infeasible_timeout) {
    return;
  }
  break_off("no node is big enough", no_big_node_text(*request_));
}

// What the records will say of the exploit with which the trial starts now.
core::SharedExploit Engine::Implementation::exploit_of(const TrialRecord& record) {
  const PendingExploit& pending = *record.exploit;
  const core::SharedExploit& last = record.recorded_exploit;
  return std::make_shared<const core::Exploit>(
      core::Exploit{.trial = record.id(),
                    .trial_name = record.trial->name(),
                    .number = last ? last->number + 1 : 1,
                    .incarnation = record.trial->incarnation(),
                    .step = record.last.training_iteration,
                    .donor = pending.source_id,
                    .donor_name = pending.source_name,
                    .donor_step = pending.source.training_iteration,
                    .old_config = pending.old_config,
                    .donor_config = pending.source.config,
                    .config = pending.config});
}

void Engine::Implementation::start(TrialRecord& record, const SharedRequest& request,
                                   Placement::Grant grant) {
  Trial& trial = *record.trial;
  begin_session_of(record);
  trial.set_incarnation(trial.incarnation() + 1);
  Run& run = record.run.emplace();
  run.incarnation = trial.incarnation();
  run.grant = std::move(grant);
  trial.set_granted(request->total());
  trial.set_request(request);
  record.awaited = nullptr;
  record.want = TrialRecord::Want::run;

  Launch launch;
  launch.trial = record.id();
  launch.incarnation = run.incarnation;
  launch.node = run.grant.node;
  launch.trial_name = trial.name();
  launch.grant = run.grant.resources;
  launch.workers = run.grant.workers;
  launch.seed = Random(options_.seed, "trial", record.id().value()).next();
  trial.set_config(config_of_next_start(record));
  launch.stored_until = record.stored_until;
  if (record.exploit) {
    // Weights and configuration are the donor's, the counters stay the trial's own.
    launch.checkpoint = record.exploit->location();
    launch.checkpoint_files = record.exploit->source.files;
    launch.start_iteration = record.last.training_iteration;
    // The trial's own of the same iteration stays as it is: another trial may have to take it over,
    // and this one goes back to it if the adoption fails.
    launch.adopt_as = own_checkpoint_name(launch, launch.start_iteration);
    launch.start_time_total_s = record.last.time_total_s;
    run.source_trial = record.exploit->source_id;
    run.exploit = exploit_of(record);
    run.adopting = std::exchange(record.exploit, std::nullopt);  // with its pin
  } else if (!record.checkpoints.empty()) {
    const StoredCheckpoint& newest = record.checkpoints.back();
    launch.checkpoint = location(record, newest);
    launch.checkpoint_files = newest.files;
    run.source_trial = record.id();
    run.exploit = newest.exploit;
    launch.start_iteration = newest.training_iteration;
    launch.start_time_total_s = newest.time_total_s;
  } else {
    TUNE_ASSERT(record.damage.empty());  // nothing that it did is silently done again
  }
  launch.saves = record.saves.all();
  run.source = launch.checkpoint;
  launch.config = trial.config();
  run.training_iteration = launch.start_iteration;
  run.horizon = horizon_of(record);
  launch.horizon = run.horizon;
  set_state(record, TrialState::running, {});
  const TrialStart begun{record.id(),     trial.name(),           trial.config(),
                         run.incarnation, launch.start_iteration, run.grant.node};
  emit(RecordTrialStarted{begun});
  emit(std::move(launch));
}

bool Engine::Implementation::may_have_more_trials() const {
  return !searcher_exhausted_ && (!options_.max_trials || next_trial_ < *options_.max_trials);
}

bool Engine::Implementation::can_ask() const {
  return counts_.asked == 0 && !searcher_waits_ && may_have_more_trials() && has_room_for_another();
}

bool Engine::Implementation::has_room_for_another() const {
  // What it will need is not known before: one that waits for a node is enough.
  if (!request_) return waiting_for_node_.empty();
  // One that can never fit is asked for as well, to be refused by name.
  return placement_.fits(*request_) ||
         (options_.fixed_cluster && !placement_.is_feasible(*request_) && !are_slots_lost());
}

void Engine::Implementation::ask() {
  ++counts_.asked;
  searcher_has_news_ = false;
  emit(AskSearcher{TrialId{next_trial_++}});
}

}  // namespace tune::engine
