#include "engine/engine.hpp"

#include <limits>

#include <tune/error.hpp>

#include "core/number_text.hpp"
#include "engine_implementation.hpp"

namespace tune::engine {
namespace {

constexpr std::uint64_t first_retry_timer = time_budget_timer + 1;   // plus the trial's id
constexpr std::uint64_t first_node_timer = std::uint64_t{1} << 63U;  // plus the trial's id

std::string seconds_text(Time time) { return core::number_text(time.count()) + " s"; }

}  // namespace

std::uint64_t retry_timer(TrialId id) { return first_retry_timer + id.value(); }

std::uint64_t node_timer(TrialId id) { return first_node_timer + id.value(); }

std::string checkpoint_directory_name(std::int64_t training_iteration) {
  constexpr std::size_t digits = 6;
  const std::string number = std::to_string(training_iteration);
  const std::size_t padding = number.size() < digits ? digits - number.size() : 0;
  return "checkpoint_" + std::string(padding, '0') + number;
}

std::string own_checkpoint_name(const Launch& launch, std::int64_t training_iteration,
                                std::int64_t went_back) {
  std::string name = checkpoint_directory_name(training_iteration);
  if (training_iteration > launch.stored_until) return name;
  name += "_" + std::to_string(launch.incarnation);
  return went_back == 0 ? name : name + "-" + std::to_string(went_back);
}

void Engine::Implementation::handle(Event&& event, Time now, std::vector<Command>& commands) {
  tape_.record();
  run(std::move(event), now, commands);
}

void Engine::Implementation::run(Event&& event, Time now, std::vector<Command>& commands) {
  const bool begins_session = std::holds_alternative<SessionStarted>(event);
  if (finished_ && !begins_session) return;
  commands_ = &commands;
  context_.set_now(now);
  if (!started_ && !begins_session && options_.time_budget) {
    emit(SetTimer{time_budget_timer, now + *options_.time_budget});
  }
  std::visit([this](auto& e) { on(e); }, event);
  started_ = true;
  settle();
  if (!finished_) watch_infeasible();
  commands_ = nullptr;
}

TrialRecord* Engine::Implementation::find(TrialId id) { return records_.find(id); }

void Engine::Implementation::on(const NodeJoined& event) {
  if (placement_.is_present(event.node)) return;
  placement_.add_node(event.node, event.name, event.capacity, event.labels);
  context_.set_nodes(placement_.capacities());
  resources_changed_ = true;
  if (event.is_remote) remote_nodes_.insert(event.node);
  adopt(event);
}

void Engine::Implementation::on(const NodeLeft& event) {
  if (!placement_.is_present(event.node)) return;
  const std::string reason = "node " + placement_.node_name(event.node) + " lost";
  placement_.remove_node(event.node);
  remote_nodes_.erase(event.node);
  context_.set_nodes(placement_.capacities());
  resources_changed_ = true;
  std::vector<TrialId> lost;
  for (auto& [id, record] : records_) {
    if (!record.run || record.run->is_adrift) continue;
    const std::size_t workers = std::erase_if(
        record.run->grant.workers, [&](const auto& worker) { return worker.node == event.node; });
    if (record.run->grant.node == event.node) {
      lost.push_back(id);
    } else if (workers > 0) {
      cripple(record, reason + " with workers of it");
    }
  }
  // All at once, so that no decision of the scheduler on one reaches for another that is gone too.
  for (const TrialId id : lost) {
    end_run(records_.at(id));
    distrust_names(records_.at(id));
  }
  for (const TrialId id : lost) {
    TrialRecord* record = find(id);
    if (!record || record->trial->state() != TrialState::running) continue;
    if (record->want == TrialRecord::Want::stop || record->want == TrialRecord::Want::pause) {
      carry_out(*record);  // what was decided stays decided
    } else if (interrupted_) {
      leave_unfinished(*record);
    } else {
      go_back_after_loss(*record, reason);
    }
    carry_out_requests();
  }
}

// Some of its workers are gone: it ends where it is, and starts anew from its last checkpoint.
void Engine::Implementation::cripple(TrialRecord& record, const std::string& reason) {
  Run& run = *record.run;
  run.lost_workers = reason;
  if (std::exchange(run.stop_sent, true)) return;
  emit(Stop{record.id(), run.incarnation, run.grant.node, false});
}

// A node that was lost may still be storing checkpoints of which nobody hears: no later one of the
// trial gets a name without its incarnation.
void Engine::Implementation::distrust_names(TrialRecord& record) {
  record.stored_until = std::numeric_limits<std::int64_t>::max();
}

// No failure of the trial, unless it is what takes its nodes down.
void Engine::Implementation::go_back_after_loss(TrialRecord& record, const std::string& reason) {
  ++record.node_losses;
  if (options_.max_node_failures < 0 || record.node_losses <= options_.max_node_failures) {
    return make_pending(record, reason);
  }
  const std::string count = std::to_string(record.node_losses);
  fail(record, "lost with its node " + count + (record.node_losses == 1 ? " time" : " times"),
       reason + ": the trial was on " + count +
           " lost nodes in a row without a new result, and max_node_failures is " +
           std::to_string(options_.max_node_failures),
       false);
}

void Engine::Implementation::on(const SuggestionReady& event) {
  --counts_.asked;
  resources_changed_ = true;
  if (ending_) {
    late_suggestion_ = event;  // for another session
    return;
  }
  if (std::holds_alternative<Wait>(event.suggestion)) {
    searcher_waits_ = !searcher_has_news_;  // what it was told since it was asked may help
    next_trial_ = event.trial.value();      // asked for again
  } else if (std::holds_alternative<Exhausted>(event.suggestion)) {
    searcher_exhausted_ = true;
    next_trial_ = event.trial.value();  // there is no trial of that id
  } else if (const auto* failure = std::get_if<SearcherFailure>(&event.suggestion)) {
    next_trial_ = event.trial.value();
    break_off("the searcher failed", "searcher failed to suggest trial " +
                                         std::to_string(event.trial.value()) + ": " +
                                         failure->message);
  } else {
    const Config& config = std::get<Config>(event.suggestion);
    Trial trial(event.trial, config);
    trial.set_name(trial_directory_name(event.trial, config));
    TrialRecord record;
    record.trial = &context_.add(std::move(trial));
    record.first_config = config;
    TrialRecord& added = records_.add(event.trial, std::move(record));
    ++counts_.pending;
    emit(RecordTrialAdded{event.trial, added.trial->name(), config});
    if (!event.note.empty()) emit(RecordExplanation{event.trial, event.note});
    tell_added(added);
  }
}

void Engine::Implementation::on(TrialMessage& event) {
  TrialRecord* record = find(event.trial);
  const auto is_running = [&] {
    return record && record->run && record->run->incarnation == event.incarnation &&
           !record->run->is_adrift;
  };
  if (!is_running() || !record->run->inbox.accepts(event.sequence)) {
    ++counts_.refused_messages;
    return;
  }
  if (!record->run->inbox.is_next(event.sequence)) {
    record->run->inbox.keep(event.sequence, std::move(event.report));
    return;
  }
  // A report may end the run or the trial: look it up again each time.
  std::optional<TrialReport> kept;
  for (TrialReport* report = &event.report; report != nullptr; report = kept ? &*kept : nullptr) {
    record->run->inbox.advance();
    std::visit([&](auto& r) { on(*record, r); }, *report);
    carry_out_requests();
    record = find(event.trial);
    if (!is_running()) return;
    // Only now is the scheduler's horizon known.
    if (std::holds_alternative<Reported>(*report)) continue_if_waiting(*record);
    kept = record->run->inbox.take();
  }
}

void Engine::Implementation::on(const TimerFired& event) {
  if (event.timer == time_budget_timer) {
    if (options_.time_budget) end_by_time();
    return;
  }
  if (event.timer == infeasible_timer) return end_infeasible();
  if (event.timer == driver_grace_timer) return end_driver_grace();
  if (event.timer >= first_node_timer) {
    TrialRecord* const record = find(TrialId(event.timer - first_node_timer));
    if (record != nullptr) give_up_waiting(*record);
    return;
  }
  const TrialId id(event.timer - first_retry_timer);
  if (find(id) == nullptr) return;  // it was stopped while it waited
  context_.set_waits_for_retry(id, false);
  resources_changed_ = true;
}

void Engine::Implementation::on(const StopRequested& event) {
  if (event.interrupts) {
    interrupt(event.reason);
  } else {
    begin_ending(event.reason);
  }
}

void Engine::Implementation::begin_ending(const std::string& reason, const std::string& error) {
  if (end_error_.empty()) end_error_ = error;
  if (ending_) return;
  ending_ = true;
  end_reason_ = reason;
  std::vector<TrialId> running;
  for (const auto& [id, record] : records_) {
    if (record.run) running.push_back(id);
  }
  for (const TrialId id : running) {
    if (TrialRecord* record = find(id)) stop(*record, reason);
  }
}

// Ends the experiment by a fault that can be mended: no trial ends by it.
void Engine::Implementation::break_off(const std::string& reason, const std::string& error) {
  if (end_error_.empty()) end_error_ = error;
  interrupt(reason);
}

// Ends the experiment so that it can go on another time: no trial ends by it.
void Engine::Implementation::interrupt(const std::string& reason) {
  if (ending_) return;
  ending_ = true;
  interrupted_ = true;
  end_reason_ = reason;
  interrupt_adrift();
  for (auto& [id, record] : records_) {
    if (record.run) carry_out(record);
  }
}

// With more time the trials go on as after an interrupt, so that all is decided as if there had
// been no end. For all but scheduler and searcher they have ended until then.
void Engine::Implementation::end_by_time() {
  if (ending_) return;
  is_time_up_ = true;
  for (auto& [id, record] : records_) {
    if (record.run && record.want != TrialRecord::Want::stop) record.is_out_of_time = true;
  }
  interrupt("time budget of " + seconds_text(*options_.time_budget) + " used up");
  for (auto& [id, record] : records_) {
    // Since an earlier session.
    if (record.is_out_of_time && !record.run && !record.is_interrupted) rest(record);
  }
}

// Brings everything to rest after an event: requests carried out, slots filled, the end seen.
void Engine::Implementation::settle() {
  while (!finished_) {
    carry_out_requests();
    if (ending_) {
      if (counts_.running == 0) finish();
      return;
    }
    // Full slots stay full until something is given back, and without a result nobody changes his
    // mind.
    const bool may_decide = counts_.running > 0 || last_fill_ == Fill::idle;
    if (!resources_changed_ && (last_fill_ == Fill::no_room || !may_decide)) return;
    resources_changed_ = false;
    last_fill_ = fill_slots();
    if (ending_) continue;
    if (counts_.running > 0 || counts_.asked > 0) return;
    if (are_slots_lost() && (!records_.empty() || may_have_more_trials())) {
      const std::int64_t lost = placement_.lost_grants();
      begin_ending("no slot is left: " + std::to_string(lost) +
                   (lost == 1 ? " was lost to a trial that did not end"
                              : " were lost to trials that did not end"));
      continue;
    }
    if (records_.empty()) {
      if (searcher_waits_ && may_have_more_trials()) {
        begin_ending("the searcher waits for ever",
                     "the searcher waits for results, but no trial is left that could bring one");
        continue;
      }
      if (is_waiting_for_nodes()) return;
      end_reason_ = searcher_exhausted_      ? "search space exhausted"
                    : may_have_more_trials() ? "the scheduler lets no further trial start"
                                             : "all trials ended";
      finish();
      return;
    }
    if (!placement_.has_nodes() || last_fill_ != Fill::idle) return;
    if (!waiting_for_retry().empty()) return;  // a timer will come
    if (is_waiting_for_nodes()) return;        // the scheduler may wait for the trial that needs it
    // Nothing runs, nothing will be asked for, and the scheduler lets none of these go on.
    TrialRecord& stranded = records_.begin()->second;
    terminate(stranded, stranded.trial->state() == TrialState::paused
                            ? "left paused by the scheduler"
                            : "never chosen by the scheduler");
    resources_changed_ = true;
  }
}

void Engine::Implementation::finish() {
  ExperimentEnd end;
  end.terminated_trials = counts_.terminated;
  end.failed_trials = counts_.error;
  end.unfinished_trials = counts_.total() - counts_.ended();
  end.reason = end_reason_;
  end.error = end_error_;
  end.interrupted = interrupted_ && !is_time_up_;
  finished_ = true;
  emit(Finish{std::move(end)});
}

Engine::Counts Engine::Implementation::counts() const { return counts_; }

std::vector<TrialId> Engine::Implementation::waiting_for_retry() const {
  std::vector<TrialId> waiting;
  for (const auto& [id, record] : records_) {
    if (record.trial->waits_for_retry()) waiting.push_back(id);
  }
  return waiting;
}

std::string Engine::Implementation::waiting_reason() const {
  if (finished_) return {};
  if (const auto waiting = std::ssize(adrift()); counts_.running > 0) {
    if (waiting < counts_.running) return {};
    return waiting == 1 ? "a trial waits for its node to come back with it (driver_grace)"
                        : std::to_string(waiting) +
                              " trials wait for their nodes to come back with them (driver_grace)";
  }
  if (records_.empty() && !may_have_more_trials()) return {};
  if (!placement_.has_nodes()) return "no node is there";
  if (counts_.asked > 0) return "the searcher is thinking";
  if (waiting_for_node_.empty()) {
    if (const std::vector<TrialId> waiting = waiting_for_retry(); !waiting.empty()) {
      return waiting.size() == 1
                 ? "trial " + std::to_string(waiting.front().value()) + " waits for its retry"
                 : std::to_string(waiting.size()) + " trials wait for their retry";
    }
    return request_ && !placement_.could_fit(*request_)
               ? "the next trial waits for " + request_->describe() + ": no node is big enough"
               : "no room on any node";
  }
  constexpr std::size_t most_named = 3;
  std::string text;
  std::size_t named = 0;
  for (const auto& [id, request] : waiting_for_node_) {
    if (named == most_named) {
      text += ", and " + std::to_string(waiting_for_node_.size() - named) + " more";
      break;
    }
    text += (named++ == 0 ? "trial " : ", trial ") + std::to_string(id.value()) + " waits for " +
            request->describe();
  }
  return text + ": no node is big enough";
}

// True if only a node that joins can let another trial be asked for.
bool Engine::Implementation::is_waiting_for_nodes() const {
  return may_have_more_trials() && (!placement_.has_nodes() || !has_room_for_another());
}

Engine::Engine(EngineOptions options, std::unique_ptr<TrialScheduler> scheduler)
    : implementation_(std::make_unique<Implementation>(std::move(options), std::move(scheduler))) {}

Engine::~Engine() = default;

void Engine::handle(Event event, Time now, std::vector<Command>& commands) {
  implementation_->handle(std::move(event), now, commands);
}

Decisions Engine::take_decisions() { return implementation_->tape_.take(); }

void Engine::replay(const Event& event, Time now, const Decisions& decisions, bool asks_scheduler,
                    std::vector<Command>& commands) {
  implementation_->replay(event, now, decisions, asks_scheduler, commands);
}

void Engine::begin_replay(KeepEnded keep) { implementation_->begin_replay(std::move(keep)); }

void Engine::restore_scheduler(const Json& state) { implementation_->scheduler_->restore(state); }

std::string Engine::replay_difference() const { return implementation_->tape_.difference(); }

Reopenable Engine::reopenable() const { return implementation_->reopenable(); }

bool Engine::is_finished() const { return implementation_->is_finished(); }

Engine::Counts Engine::counts() const { return implementation_->counts(); }

std::optional<ResourceAmounts> Engine::free_resources(NodeId node) const {
  return implementation_->placement_.free(node);
}

std::string Engine::waiting_reason() const { return implementation_->waiting_reason(); }

const SchedulerContext& Engine::context() const { return implementation_->context_; }

const TrialScheduler& Engine::scheduler() const { return *implementation_->scheduler_; }

}  // namespace tune::engine
