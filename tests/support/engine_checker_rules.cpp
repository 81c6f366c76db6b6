#include <algorithm>
#include <cmath>
#include <variant>

#include "support/broken_invariant.hpp"
#include "support/engine_checker.hpp"
#include "support/engine_text.hpp"

namespace tune::test {

std::int64_t EngineChecker::count_running() const {
  return std::count_if(trials_.begin(), trials_.end(),
                       [](const auto& entry) { return entry.second.running.has_value(); });
}

bool EngineChecker::is_checkpoint_needed(const engine::CheckpointLocation& location) const {
  return std::any_of(trials_.begin(), trials_.end(), [&](const auto& entry) {
    const auto& running = entry.second.running;
    return running && running->needs_checkpoint && running->launch.checkpoint == location;
  });
}

EngineChecker::Verdict EngineChecker::judge(TrialId id, const Result& result) {
  const PlateauModel::Verdict plateaus = plateaus_.judge(id, result);
  Verdict verdict{.stop_trial = plateaus.stop_trial, .stop_experiment = plateaus.stop_experiment};
  for (const StopCriteria::Rule& rule : options_.stop.rules()) {
    if (const auto* bound = std::get_if<StopCriteria::Bound>(&rule)) {
      const std::optional<double> value = result.number(bound->field);
      if (!value || !std::isfinite(*value)) continue;
      if (bound->below ? *value <= bound->bound : *value >= bound->bound) {
        verdict.stop_trial = Certainty::yes;
      }
    } else if (const auto* predicate = std::get_if<StopCriteria::Predicate>(&rule)) {
      try {
        if (predicate->stop(Trial(id), result)) verdict.stop_trial = Certainty::yes;
      } catch (...) {
        return {.threw = Certainty::yes};
      }
    }
  }
  return verdict;
}

// --- what the scheduler asked for

void EngineChecker::note_requests() {
  for (const RecordingScheduler::Call& call : calls_) {
    for (const SchedulerRequest& request : call.requests) {
      if (const auto* exploit = std::get_if<ExploitTrial>(&request)) {
        Exploit& noted = exploits_[exploit->target].emplace_back();
        noted.source = exploit->source;
        noted.config = exploit->config;
        const auto source = trials_.find(exploit->source);
        if (source != trials_.end() && !source->second.checkpoints.empty()) {
          noted.newest.push_back(source->second.checkpoints.back());
        }
      } else if (const auto* change = std::get_if<ChangeResources>(&request)) {
        requests_[change->trial].push_back(change->resources);
      }
    }
  }
}

void EngineChecker::note_decisions() {
  for (const RecordingScheduler::Call& call : calls_) {
    if (call.threw) note_scheduler_fault();
    note_choice(call);
    note_decision(call);
    for (const SchedulerRequest& request : call.requests) {
      if (const auto* stop = std::get_if<StopTrial>(&request)) {
        const auto trial = trials_.find(stop->trial);
        if (trial != trials_.end()) trial->second.stop_decided = true;
      } else if (const auto* exploit = std::get_if<ExploitTrial>(&request)) {
        const auto trial = trials_.find(exploit->target);
        if (trial == trials_.end()) continue;
        const bool started_now = trial->second.running && !trial->second.running->last_result &&
                                 trial->second.running->launch.adopt_as;
        trial->second.change_decided = !started_now;
      } else if (const auto* change = std::get_if<ChangeResources>(&request)) {
        const auto trial = trials_.find(change->trial);
        if (trial != trials_.end()) trial->second.change_decided = true;
      }
    }
  }
}

// A choice that cannot be is a fault of the scheduler, and ends the experiment.
void EngineChecker::note_choice(const RecordingScheduler::Call& call) {
  if (call.kind != RecordingScheduler::Kind::choose || !call.chosen) return;
  if (call.state_of_chosen != TrialState::pending && call.state_of_chosen != TrialState::paused) {
    note_scheduler_fault();
  }
}

void EngineChecker::note_decision(const RecordingScheduler::Call& call) {
  if (call.kind != RecordingScheduler::Kind::result) return;
  const auto arrival = std::find_if(arrivals_.begin(), arrivals_.end(), [&](const Arrival& a) {
    const auto* reported = std::get_if<engine::Reported>(&a.report);
    return a.trial == call.trial && reported != nullptr &&
           reported->result.training_iteration == call.iteration;
  });
  if (arrival == arrivals_.end()) broken(call.trial, "the scheduler is told what did not arrive");
  arrival->is_told = true;
  if (!arrival->may_be_told) {
    broken(call.trial, "the scheduler is told of iteration " + std::to_string(call.iteration) +
                           ", of which it must not hear");
  }
  if (call.threw || call.answer == Decision::proceed) return;
  if (!arrival->is_waiting && !std::get<engine::Reported>(arrival->report).result.done) {
    broken(call.trial, "the decision on iteration " + std::to_string(call.iteration) +
                           " comes too late: the trial ran on");
  }
  const TrialLog& trial = trials_.at(call.trial);
  if (call.answer == Decision::stop) trials_.at(call.trial).stop_decided = true;
  if (call.answer == Decision::pause && trial.running && !trial.running->is_end_ordered() &&
      !trial.ends_itself && !has_requests()) {
    broken(call.trial, "is to pause and is not told so");
  }
}

// --- what must hold after every event

void EngineChecker::check_refused(const engine::Command& command) const {
  if (!refused_now_) return;
  const auto* state = std::get_if<engine::RecordTrialState>(&command);
  const auto* checkpoint = std::get_if<engine::RecordCheckpoint>(&command);
  const auto* result = std::get_if<engine::RecordResult>(&command);
  // A slot that was held may be given to it at any event; then it may be refused its resources.
  const bool is_chosen = std::any_of(calls_.begin(), calls_.end(), [&](const auto& call) {
    return call.chosen && call.chosen == refused_now_;
  });
  if ((state != nullptr && state->trial == *refused_now_ && !has_requests() && !is_chosen) ||
      checkpoint != nullptr || result != nullptr) {
    broken(*refused_now_, "a message to be refused had an effect: " + describe(command));
  }
}

bool EngineChecker::has_requests() const {
  return std::any_of(calls_.begin(), calls_.end(),
                     [](const auto& call) { return !call.requests.empty(); });
}

// A fault interrupts, unless the experiment was ending already.
void EngineChecker::note_scheduler_fault() {
  scheduler_threw_ = true;
  interrupted_ = std::max(interrupted_, Certainty::maybe);
}

void EngineChecker::check_stops() {
  for (const TrialId id : stopped_now_) {
    const TrialLog& trial = trials_.at(id);
    const bool is_exploited = exploits_.contains(id);
    if (ending_ || scheduler_threw_ || trial.stop_decided || trial.lacked_metric || is_exploited) {
      continue;
    }
    if (!may_end_early_) broken(id, "is stopped and nobody wanted it");
    ending_ = true;
  }
}

void EngineChecker::check_arrivals() {
  if (suggested_now_ && !ending_ && !scheduler_threw_ && !may_end_early_ && !end_)
    broken(*suggested_now_, "suggested and then forgotten");
  for (const Arrival& arrival : arrivals_) {
    const auto* reported = std::get_if<engine::Reported>(&arrival.report);
    const std::string what =
        reported != nullptr ? "iteration " + std::to_string(reported->result.training_iteration)
                            : "a checkpoint";
    if (!arrival.is_recorded && !arrival.may_be_dropped) {
      broken(arrival.trial, what + " arrived and was not recorded");
    }
    if (reported == nullptr) continue;
    TrialLog& trial = trials_.at(arrival.trial);
    const bool is_the_only =
        std::count_if(arrivals_.begin(), arrivals_.end(), [&](const auto& a) {
          return a.trial == arrival.trial && std::holds_alternative<engine::Reported>(a.report);
        }) == 1;
    const bool is_decided = trial.stop_decided || trial.change_decided || scheduler_threw_;
    // News to a scheduler is what lies beyond all that it was told.
    const std::optional<double> progress = reported->result.number(scheduler_.time_attr());
    const bool is_news = progress && std::isfinite(*progress) &&
                         std::all_of(trial.told_progress.begin(), trial.told_progress.end(),
                                     [&](double told) { return told < *progress; });
    if (arrival.is_told && !is_news) {
      broken(arrival.trial, what + " was told to the scheduler, and is no progress");
    }
    if (arrival.is_told) trial.told_progress.push_back(*progress);
    if (arrival.must_be_told && is_news && !arrival.is_told && (is_the_only || !is_decided)) {
      broken(arrival.trial, what + " was not told to the scheduler");
    }
  }
}

void EngineChecker::check_trial(TrialId id, const TrialLog& trial) const {
  const auto ended = ended_now_.find(id);
  const bool must_end = ending_ || scheduler_threw_ || trial.stop_decided;
  const bool was_stopped = ended != ended_now_.end() && ended->second.stop_ordered;
  if (trial.running) {
    const engine::Launch& launch = trial.running->launch;
    const auto& start = trial.start_record;
    if (!start || start->incarnation != launch.incarnation || start->node != launch.node ||
        start->start_iteration != launch.start_iteration || start->name != launch.trial_name ||
        !(start->config == launch.config)) {
      broken(id, "its start is not recorded as it was launched");
    }
    if (trial.has_ended()) broken(id, "has ended but still runs");
    if (must_end && !trial.running->is_end_ordered() && !trial.ends_itself) {
      broken(id, "must end but is not told so");
    }
    if (trial.running->is_waiting() && !trial.running->is_end_ordered()) {
      broken(id, "waits and got no answer");
    }
  } else {
    if (trial.state == TrialState::running) broken(id, "is said to run but does not");
    if (trial.stop_decided && !trial.has_ended()) broken(id, "was decided to stop but waits");
  }
  if (trial.has_ended() && trial.is_told == trial.is_out_of_time) {
    broken(id, trial.is_told ? "is told to have ended, and has more time another day"
                             : "its end was not told to the searcher");
  }
  if (trial.is_told && !trial.has_ended()) broken(id, "its end was told but not recorded");
  if (trial.was_invalid && trial.state != TrialState::error) broken(id, "is invalid but no error");
  if (trial.is_lost && !trial.has_ended() && interrupted_ == Certainty::no) {
    broken(id, "was abandoned and did not end");
  }
  if (trial.was_interrupted && trial.has_ended() && !trial.is_out_of_time && !trial.stop_decided &&
      !trial.lacked_metric && !trial.has_lost_all()) {
    broken(id, "is ended by an interrupt");
  }
  if (ended != ended_now_.end() && !must_end && !was_stopped && options_.max_failures >= 0 &&
      trial.failures > options_.max_failures && trial.state != TrialState::error) {
    broken(id, "failed more often than it may and is no error");
  }
  if (trial.state == TrialState::error && !trial.was_invalid && !trial.lacked_metric &&
      !trial.is_lost && !trial.has_lost_all() && !trial.launches.empty() && trial.failures > 0 &&
      (options_.max_failures < 0 || trial.failures <= options_.max_failures) && !must_end &&
      !was_stopped && !requests_.contains(id) && !options_.resources.of) {
    broken(id, "is an error before its retries are used up");
  }
  check_checkpoints(id, trial);
}

void EngineChecker::check_counts(const engine::Engine& engine) const {
  const engine::Engine::Counts counts = engine.counts();
  std::uint64_t by_state[5] = {};
  for (const auto& [id, trial] : trials_) ++by_state[static_cast<int>(trial.state)];
  const auto require = [&](const char* what, std::uint64_t is, std::uint64_t expected) {
    if (is == expected) return;
    throw BrokenInvariant(std::string("counts: ") + what + " is " + std::to_string(is) +
                          ", the commands say " + std::to_string(expected));
  };
  require("pending", counts.pending, by_state[static_cast<int>(TrialState::pending)]);
  require("running", counts.running, by_state[static_cast<int>(TrialState::running)]);
  require("paused", counts.paused, by_state[static_cast<int>(TrialState::paused)]);
  require("terminated", counts.terminated, by_state[static_cast<int>(TrialState::terminated)]);
  require("error", counts.error, by_state[static_cast<int>(TrialState::error)]);
  require("infeasible", counts.infeasible, invalid_trials_);
  if (end_) return;
  require("running", counts.running, static_cast<std::uint64_t>(count_running()));
  require("asked", counts.asked, asked_.size());
  require("refused_messages", counts.refused_messages, refused_messages_);
  for (const NodeId node : ledger_.present()) {
    const std::optional<ResourceAmounts> free = engine.free_resources(node);
    if (!free || !(*free == ledger_.free(node))) {
      throw BrokenInvariant("node " + std::to_string(node.value()) + " has free " +
                            (free ? free->describe() : "nothing") + " by its own word, " +
                            ledger_.free(node).describe() + " by the commands");
    }
  }
}

void EngineChecker::check_pauses(const engine::Engine& engine) const {
  if (end_ || ending_) return;  // nothing starts any more
  for (const TrialId id : engine.context().pending_trials()) {
    const TrialLog& trial = trials_.at(id);
    if (trial.retry_at_s && now_.count() < *trial.retry_at_s) {
      broken(id, "is offered to the scheduler before its pause is over");
    }
  }
}

void EngineChecker::check_waiting(const engine::Engine& engine) const {
  const std::string reason = engine.waiting_reason();
  const bool waits = std::any_of(trials_.begin(), trials_.end(), [](const auto& entry) {
    return entry.second.state == TrialState::pending || entry.second.state == TrialState::paused;
  });
  for (const auto& [id, trial] : trials_) {
    const bool waits_for_slot =
        trial.state == TrialState::pending || trial.state == TrialState::paused;
    const std::string name = "trial " + std::to_string(id.value()) + " waits for ";
    if (!waits_for_slot && reason.find(name) != std::string::npos) {
      broken(id, "does not wait, but is said to: " + reason);
    }
  }
  if (count_running() > 0 && !reason.empty()) {
    throw BrokenInvariant("says that it waits though a trial runs: " + reason);
  }
  if (count_running() == 0 && waits && asked_.empty() && !end_ && reason.empty()) {
    throw BrokenInvariant("trials wait and nothing says why");
  }
}

}  // namespace tune::test
