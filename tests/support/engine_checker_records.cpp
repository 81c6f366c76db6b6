#include <algorithm>
#include <variant>

#include "support/broken_invariant.hpp"
#include "support/engine_checker.hpp"
#include "support/engine_text.hpp"

namespace tune::test {

void EngineChecker::on(const engine::RecordTrialAdded& command) {
  if (suggested_now_ != command.trial) broken(command.trial, "added without a suggestion");
  suggested_now_.reset();
  TrialLog log;
  log.name = command.name;
  log.first_config = command.config;
  if (!trials_.emplace(command.trial, log).second) broken(command.trial, "added twice");
  if (!names_.emplace(command.name, command.trial).second) {
    broken(command.trial, "has the name of another trial");
  }
}

void EngineChecker::on(const engine::RecordTrialStarted& command) {
  const engine::TrialStart& start = command.start;
  TrialLog& trial = unended(start.trial, "a start recorded");
  if (trial.start_record && trial.start_record->incarnation >= start.incarnation) {
    broken(start.trial, "one start is recorded twice");
  }
  trial.start_record = start;
}

EngineChecker::Arrival& EngineChecker::next_arrival(TrialId trial, std::uint32_t incarnation,
                                                    bool is_result) {
  for (Arrival& arrival : arrivals_) {
    if (arrival.is_recorded) continue;
    const bool matches = arrival.trial == trial && arrival.incarnation == incarnation &&
                         std::holds_alternative<engine::Reported>(arrival.report) == is_result;
    if (matches) {
      arrival.is_recorded = true;
      return arrival;
    }
    if (!arrival.may_be_dropped) break;
  }
  broken(trial, "a record of what did not arrive, or in another order");
}

void EngineChecker::on(const engine::RecordResult& command) {
  TrialLog& trial = unended(command.trial, "a result recorded");
  const Arrival& arrival = next_arrival(command.trial, command.incarnation, true);
  const Result& reported = std::get<engine::Reported>(arrival.report).result;
  const Result& result = command.result;
  if (result.training_iteration != reported.training_iteration ||
      !(result.metrics == reported.metrics) || result.time_total_s != reported.time_total_s) {
    broken(command.trial, "a result is recorded otherwise than it was reported");
  }
  RunningStart& start = trial.running ? *trial.running : ended_now_.at(command.trial);
  const auto kept = static_cast<std::size_t>(start.launch.start_iteration);
  if (!start.has_recorded_result && trial.line.size() > kept) trial.line.resize(kept);
  start.has_recorded_result = true;
  // The exploits on record tell under which configuration each result came.
  if (!(start.launch.config ==
        (trial.exploits.empty() ? trial.first_config : trial.exploits.back().config))) {
    broken(command.trial, "a result of another configuration than its exploits say");
  }
  if (result.training_iteration != static_cast<std::int64_t>(trial.line.size()) + 1) {
    broken(command.trial, "iteration " + std::to_string(result.training_iteration) +
                              " recorded after " + std::to_string(trial.line.size()));
  }
  if (!trial.line.empty() && trial.line.back().done) {
    broken(command.trial, "a result recorded after the one that is done");
  }
  trial.line.push_back(result);
  trial.recorded.push_back(result.training_iteration);
  check_done(command.trial, arrival, result);
  if (result.done) trial.stop_decided = true;
  trial.ends_itself = reported.done;
}

/// The scheduler's answer to that result, if it came with this event.
const RecordingScheduler::Call* EngineChecker::call_on(TrialId trial,
                                                       std::int64_t iteration) const {
  const auto found = std::find_if(calls_.begin(), calls_.end(), [&](const auto& call) {
    return call.kind == RecordingScheduler::Kind::result && call.trial == trial &&
           call.iteration == iteration;
  });
  return found == calls_.end() ? nullptr : &*found;
}

/// Whether the stop criteria are asked about it: not if it was so before, if a stop was decided, or
/// if it is an error in itself.
Certainty EngineChecker::is_judged(const Arrival& arrival, const Result& result) const {
  if (arrival.is_open == Certainty::no || is_stopped_now_ || arrival.may_be_dropped) {
    return Certainty::no;
  }
  if (call_on(arrival.trial, result.training_iteration) != nullptr) return Certainty::yes;
  // Not told. A request within the event may have stopped it, before this result or after it.
  const bool may_be_stopped = std::any_of(calls_.begin(), calls_.end(), [&](const auto& call) {
    return call.kind != RecordingScheduler::Kind::choose &&
           (call.threw || std::any_of(call.requests.begin(), call.requests.end(),
                                      [&](const SchedulerRequest& request) {
                                        const auto* stop = std::get_if<StopTrial>(&request);
                                        return stop != nullptr && stop->trial == arrival.trial;
                                      }));
  });
  return may_be_stopped ? Certainty::maybe : arrival.is_open;
}

/// `done` is true if it was reported, or if the decision on that very row ended the trial.
void EngineChecker::check_done(TrialId id, const Arrival& arrival, const Result& recorded) {
  const Result& reported = std::get<engine::Reported>(arrival.report).result;
  const Certainty judged = is_judged(arrival, reported);
  Verdict verdict;
  if (judged != Certainty::no) verdict = judge(id, reported);
  if (judged == Certainty::maybe) {
    plateaus_.lose_track();
    for (Certainty* part : {&verdict.stop_trial, &verdict.stop_experiment, &verdict.threw}) {
      *part = std::min(*part, Certainty::maybe);
    }
  }
  if (verdict.threw == Certainty::yes) begin_interrupt();
  if (verdict.stop_experiment == Certainty::yes) ending_ = true;
  if (verdict.threw == Certainty::maybe) interrupted_ = std::max(interrupted_, Certainty::maybe);
  if (std::max(verdict.threw, verdict.stop_experiment) == Certainty::maybe) may_end_early_ = true;

  const RecordingScheduler::Call* call = call_on(id, reported.training_iteration);
  const bool stopped = call != nullptr && !call->threw && call->answer == Decision::stop;
  const Certainty ends = std::max(verdict.stop_trial, verdict.stop_experiment);
  const bool must = reported.done || stopped || ends == Certainty::yes;
  const bool may = must || ends == Certainty::maybe;
  if (must && !recorded.done && !arrival.may_be_dropped) {
    broken(id, "the result that stops it is not marked as done");
  }
  if (recorded.done && !may) broken(id, "is marked as done and nobody ended it with that result");
  // What may have ended the experiment has, where nothing else can have ended this trial.
  if (recorded.done && !must && verdict.stop_trial == Certainty::no) ending_ = true;
  is_stopped_now_ = is_stopped_now_ || recorded.done || arrival.may_be_dropped ||
                    !may_be_judged() ||
                    (call != nullptr && call->threw && interrupted_ == Certainty::no);
}

void EngineChecker::on(const engine::RecordTrialState& command) {
  TrialLog& trial = unended(command.trial, "a state recorded");
  if (command.state == TrialState::error && command.error.empty()) {
    broken(command.trial, "an error without a text");
  }
  if (command.state == TrialState::error) note_failed_trial();
  if (command.state == TrialState::error && command.reason == "resources") {
    note_refusal(command.trial);
  }
  check_left(command.trial, trial, command);
  trial.is_out_of_time = command.reason.starts_with("time budget of ");
  if (trial.is_out_of_time && (!is_time_up_ || command.state != TrialState::terminated)) {
    broken(command.trial, "is said to be out of time as " + std::string(to_string(command.state)));
  }
  trial.state = command.state;
  trial.reason = command.reason;
  if (!command.error.empty()) trial.error = command.error;
}

// One more than may fail is an interrupt.
void EngineChecker::note_failed_trial() {
  ++failed_trials_;
  const std::int64_t limit = options_.max_experiment_failures;
  if (options_.fail_fast || (limit >= 0 && failed_trials_ > limit)) begin_interrupt();
}

bool EngineChecker::has_thrown_now() const {
  return std::any_of(calls_.begin(), calls_.end(), [](const auto& call) {
    const bool chose_wrong = call.chosen && call.state_of_chosen != TrialState::pending &&
                             call.state_of_chosen != TrialState::paused;
    return call.threw || chose_wrong;
  });
}

void EngineChecker::check_left(TrialId id, const TrialLog& trial,
                               const engine::RecordTrialState& record) const {
  const bool waits = trial.retry_at_s && now_.count() < *trial.retry_at_s;
  if (waits && (record.reason == "left paused by the scheduler" ||
                record.reason == "never chosen by the scheduler")) {
    broken(id, "is ended though it waits for its retry");
  }
  if (record.reason.find("interrupted: ") != 0) {
    const bool is_left = trial.state == TrialState::running && record.state == TrialState::pending;
    if (is_left && interrupted_ == Certainty::yes) broken(id, "is left and not said to be");
    return;
  }
  if (interrupted_ == Certainty::no) broken(id, "is said to be interrupted and nothing was");
  const TrialState wanted = trial.checkpoints.empty() ? TrialState::pending : TrialState::paused;
  if (record.state != wanted) {
    broken(id, "is left as " + std::string(to_string(record.state)) + ", want " +
                   std::string(to_string(wanted)));
  }
}

// A trial that was refused its resources.
void EngineChecker::note_refusal(TrialId id) {
  const bool is_usual = !options_.resources.of && !requests_.contains(id);
  if (is_usual && ledger_.is_feasible(ResourceAmounts(options_.resources))) {
    broken(id, "is refused what a node offered when it joined");
  }
  ++refused_trials_;
  if (options_.max_infeasible > 0 && refused_trials_ >= options_.max_infeasible) ending_ = true;
}

void EngineChecker::on(const engine::RecordRestarted& command) {
  broken(command.trial, "starts anew, which only another session can ask for");
}

void EngineChecker::on(const engine::RecordSaved& command) {
  broken(command.trial, "saves a value, which no simulated trial does");
}

void EngineChecker::on(const engine::RecordSavedDropped& command) {
  broken(command.trial, "drops a saved value that it never had");
}

void EngineChecker::on(const engine::RecordExploit& command) {
  const core::Exploit& exploit = *command.exploit;
  TrialLog& trial = unended(exploit.trial, "an exploit recorded");
  const auto launch = std::find_if(
      trial.launches.begin(), trial.launches.end(), [&exploit](const engine::Launch& candidate) {
        return candidate.incarnation == exploit.incarnation && candidate.adopt_as;
      });
  const bool was_launched = launch != trial.launches.end() && launch->config == exploit.config &&
                            launch->start_iteration == exploit.step &&
                            launch->checkpoint->trial_name == exploit.donor_name &&
                            known(exploit.donor, "a donor").name == exploit.donor_name;
  if (!was_launched) broken(exploit.trial, "an exploit is recorded that was not launched so");
  if (exploit.number == 0 || exploit.number > trial.exploits.size() + 1) {
    broken(exploit.trial, "exploit " + std::to_string(exploit.number) + " is recorded after " +
                              std::to_string(trial.exploits.size()));
  }
  trial.exploits.resize(exploit.number - 1);
  trial.exploits.push_back(exploit);
}

void EngineChecker::on(const engine::RecordExploitsDropped& command) {
  TrialLog& trial = unended(command.trial, "exploits dropped");
  if (command.kept >= trial.exploits.size()) {
    broken(command.trial, "exploits are dropped that it does not have");
  }
  trial.exploits.resize(command.kept);
}

void EngineChecker::on(const engine::RecordExplanation& command) {
  known(command.trial, "explained").explanations.push_back(command.reason);
}

void EngineChecker::on(const engine::RecordWarning& command) {
  warnings_.push_back(command.text);
  if (command.trial) known(*command.trial, "warned about").warnings.push_back(command.text);
}

void EngineChecker::on(const engine::Finish& command) {
  end_ = command.end;
  std::int64_t terminated = 0;
  std::int64_t failed = 0;
  std::int64_t unfinished = 0;
  for (const auto& [id, trial] : trials_) {
    if (trial.running) broken(id, "runs on after the end of the experiment");
    terminated += trial.state == TrialState::terminated ? 1 : 0;
    failed += trial.state == TrialState::error ? 1 : 0;
    unfinished += trial.has_ended() ? 0 : 1;
  }
  if (terminated != command.end.terminated_trials || failed != command.end.failed_trials ||
      unfinished != command.end.unfinished_trials) {
    throw BrokenInvariant("the counts do not add up: " + describe(engine::Command(command)));
  }
  const bool is_certain = interrupted_ != Certainty::maybe && !may_end_early_ && !has_thrown_now();
  const bool is_to_say_so = interrupted_ == Certainty::yes && !is_time_up_;
  if (is_certain && command.end.interrupted != is_to_say_so) {
    throw BrokenInvariant("says wrongly whether it was interrupted");
  }
  if (command.end.reason.find("no slot is left") == 0 && !has_lost_slots_) {
    throw BrokenInvariant("says that no slot is left, and none was lost");
  }
  if (command.end.reason.empty()) throw BrokenInvariant("the experiment ends without a reason");
}

}  // namespace tune::test
