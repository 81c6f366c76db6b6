#include "support/engine_checker.hpp"

#include <algorithm>
#include <sstream>
#include <utility>
#include <variant>

#include "support/broken_invariant.hpp"
#include "support/engine_text.hpp"

namespace tune::test {

EngineChecker::EngineChecker(engine::EngineOptions options, RecordingScheduler& scheduler)
    : options_(std::move(options)),
      scheduler_(scheduler),
      plateaus_(options_.stop, options_.objective) {}

void EngineChecker::before(const engine::Event& event, Time now) {
  now_ = now;
  arrivals_.clear();
  ended_now_.clear();
  suggested_now_.reset();
  refused_now_.reset();
  stopped_now_.clear();
  for (auto& [target, exploits] : exploits_) {
    for (Exploit& exploit : exploits) exploit.is_new = false;
  }
  is_stopped_now_ = false;
  std::visit([this](const auto& e) { on(e); }, event);
}

void EngineChecker::after(const std::vector<engine::Command>& commands,
                          const engine::Engine& engine) {
  calls_ = scheduler_.take_calls();
  if (!scheduler_.faults().empty()) throw BrokenInvariant(scheduler_.faults().front());
  note_requests();
  for (const engine::Command& command : commands) {
    if (end_) throw BrokenInvariant("after Finish: " + describe(command));
    check_refused(command);
    std::visit([this](const auto& c) { on(c); }, command);
  }
  note_decisions();
  check_arrivals();
  check_stops();
  for (const auto& [id, trial] : trials_) check_trial(id, trial);
  if (engine.is_finished() != end_.has_value()) {
    throw BrokenInvariant("is_finished() and the Finish command disagree");
  }
  check_counts(engine);
  check_waiting(engine);
  check_pauses(engine);
}

// --- what an event means

void EngineChecker::on(const engine::NodeJoined& event) {
  if (!end_) ledger_.join(event.node, event.capacity);
}

void EngineChecker::on(const engine::NodeLeft& event) {
  ledger_.leave(event.node);
  for (auto& [id, trial] : trials_) {
    if (trial.running && trial.running->launch.node == event.node) trial.running.reset();
  }
}

void EngineChecker::on(const engine::SuggestionReady& event) {
  if (asked_.empty() || asked_.front() != event.trial) {
    throw std::logic_error("the test world answers what was not asked");
  }
  asked_.pop_front();
  if (std::holds_alternative<Wait>(event.suggestion)) asked_again_ = event.trial;
  if (std::holds_alternative<Exhausted>(event.suggestion)) is_exhausted_ = true;
  if (std::holds_alternative<engine::SearcherFailure>(event.suggestion)) begin_interrupt();
  if (std::holds_alternative<Config>(event.suggestion) && !end_) suggested_now_ = event.trial;
}

void EngineChecker::on(const engine::TimerFired& event) {
  if (budget_timer_ != event.timer) return;
  is_time_up_ = is_time_up_ || !ending_;
  begin_interrupt();
  ending_ = true;
}

void EngineChecker::on(const engine::StopRequested& event) {
  if (event.interrupts) begin_interrupt();
  ending_ = true;
}

// The first to end the experiment has the word.
// The books are of one session.
void EngineChecker::on(const engine::SessionStarted&) {
  if (!trials_.empty()) throw std::logic_error("the checker follows one session");
}

void EngineChecker::begin_interrupt() {
  if (ending_ || scheduler_threw_) return;
  interrupted_ = may_end_early_ || has_thrown_now() ? Certainty::maybe : Certainty::yes;
  ending_ = true;
}

void EngineChecker::on(const engine::TrialMessage& event) {
  const auto found = trials_.find(event.trial);
  RunningStart* running = nullptr;
  if (found != trials_.end() && found->second.running &&
      found->second.running->launch.incarnation == event.incarnation) {
    running = &*found->second.running;
  }
  if (running == nullptr || event.sequence < running->next_sequence ||
      running->early.contains(event.sequence)) {
    refused_now_ = event.trial;
    if (!end_) ++refused_messages_;
    return;
  }
  running->early.emplace(event.sequence, event.report);
  while (found->second.running && !running->early.empty() &&
         running->early.begin()->first == running->next_sequence) {
    const engine::TrialReport report = std::move(running->early.begin()->second);
    running->early.erase(running->early.begin());
    ++running->next_sequence;
    accept(event.trial, *running, report);
  }
}

void EngineChecker::accept(TrialId id, RunningStart& running, const engine::TrialReport& report) {
  if (const auto* reported = std::get_if<engine::Reported>(&report)) {
    running.needs_checkpoint = false;
    running.last_result = reported->result;
    note_result(id, running, reported->result);
  } else if (std::holds_alternative<engine::CheckpointStored>(report)) {
    running.needs_checkpoint = false;
    arrivals_.push_back({.trial = id, .incarnation = running.launch.incarnation, .report = report});
  } else if (const auto* ended = std::get_if<engine::Ended>(&report)) {
    accept_end(id, *ended);
  }
}

void EngineChecker::note_result(TrialId id, const RunningStart& running, const Result& result) {
  TrialLog& trial = trials_.at(id);
  Arrival arrival{
      .trial = id, .incarnation = running.launch.incarnation, .report = engine::Reported{result}};
  const auto newest = std::max_element(trial.recorded.begin(), trial.recorded.end());
  bool is_first = newest == trial.recorded.end();
  bool is_beyond = is_first || result.training_iteration > *newest;
  for (const Arrival& other : arrivals_) {
    if (other.trial == id && std::holds_alternative<engine::Reported>(other.report)) {
      is_first = false;
      is_beyond =
          is_beyond && result.training_iteration >
                           std::get<engine::Reported>(other.report).result.training_iteration;
    }
  }
  const bool is_interrupted = interrupted_ == Certainty::yes;
  arrival.is_new = is_beyond && !trial.stop_decided && !trial.change_decided && !scheduler_threw_ &&
                   (is_interrupted || (!running.stop_ordered && !ending_));
  if (is_beyond && !trial.stop_decided) {
    const bool is_open = is_interrupted || (!ending_ && !scheduler_threw_);
    arrival.is_open = is_open ? Certainty::yes : interrupted_;
  }
  arrival.is_waiting = running.is_waiting();
  bool has_target = true;
  if (options_.objective) {
    const MetricValue* metric = result.metrics.find(options_.objective->metric);
    has_target = metric != nullptr && metric->is_number();
    const bool is_fatal = options_.strict_metric && is_first;
    if (!has_target && (is_fatal || metric != nullptr)) trial.lacked_metric = true;
  }
  arrival.may_be_dropped = trial.lacked_metric;
  arrival.must_be_told = arrival.is_new && has_target && !trial.lacked_metric;
  arrival.may_be_told = is_beyond && has_target && !trial.stop_decided && may_be_judged();
  arrivals_.push_back(arrival);
}

void EngineChecker::accept_end(TrialId id, const engine::Ended& ended) {
  TrialLog& trial = trials_.at(id);
  RunningStart& running = *trial.running;
  switch (ended.kind) {
    case engine::EndKind::finished:
      trial.stop_decided = true;
      // Under strict_metric a trial without any result is an error.
      if (trial.recorded.empty() && arrivals_.empty()) trial.lacked_metric = true;
      break;
    case engine::EndKind::failed:
      ++trial.failures;
      if (!ending_ && !scheduler_threw_) note_pause(trial);
      break;
    case engine::EndKind::invalid:
      // Told to end before, it ends as it was told.
      if (ending_ || scheduler_threw_ || trial.stop_decided || trial.lacked_metric) break;
      if (running.stop_ordered && !exploits_.contains(id)) break;
      trial.was_invalid = true;
      ++invalid_trials_;
      if (options_.max_infeasible > 0 && invalid_trials_ >= options_.max_infeasible) {
        ending_ = true;
      }
      break;
    case engine::EndKind::abandoned:
      trial.is_lost = true;
      has_lost_slots_ = true;
      break;
    case engine::EndKind::damaged:
      note_damage(running);
      break;
    case engine::EndKind::stopped:
    case engine::EndKind::paused:
      break;
  }
  const bool ended_well = ended.kind == engine::EndKind::finished && !trial.lacked_metric;
  trial.was_interrupted = interrupted_ == Certainty::yes && !ended_well;
  if (!trial.is_lost) ledger_.release(running.launch.node, running.launch.grant);
  ended_now_.emplace(id, std::move(running));
  trial.running.reset();
}

// As long as a trial may have to wait after that many failures.
void EngineChecker::note_pause(TrialLog& trial) const {
  double pause_s = options_.retry_pause.count();
  for (std::int64_t i = 1; i < trial.failures && pause_s < 1e9; ++i) pause_s *= 2;
  trial.retry_at_s = now_.count() + std::min(pause_s, options_.max_retry_pause.count());
}

bool EngineChecker::may_be_judged() const { return !ending_ || interrupted_ != Certainty::no; }

// --- for the tests that look on

const TrialLog& EngineChecker::trial(TrialId id) const {
  const auto found = trials_.find(id);
  if (found == trials_.end()) broken(id, "was never added");
  return found->second;
}

bool EngineChecker::is_running(TrialId trial, std::uint32_t incarnation) const {
  const auto found = trials_.find(trial);
  return found != trials_.end() && found->second.running &&
         found->second.running->launch.incarnation == incarnation;
}

std::string EngineChecker::describe_state() const {
  std::ostringstream out;
  out << "at " << now_.count() << " s, " << asked_.size() << " suggestions asked for\n";
  for (const NodeId node : ledger_.present()) {
    out << "  node " << node << " has free: " << ledger_.free(node).describe() << '\n';
  }
  for (const auto& [id, trial] : trials_) {
    out << "  trial " << id << ": " << to_string(trial.state) << ", " << trial.launches.size()
        << " starts, " << trial.line.size() << " results, " << trial.failures << " failures";
    if (trial.stop_decided) out << ", stop decided";
    if (trial.change_decided) out << ", change decided";
    if (trial.running) {
      out << ", runs, next message " << trial.running->next_sequence;
      if (trial.running->pause_ordered) out << ", told to pause";
      if (trial.running->stop_ordered) out << ", told to stop";
    }
    out << '\n';
  }
  return out.str();
}

void EngineChecker::broken(TrialId trial, const std::string& text) const {
  throw BrokenInvariant("trial " + std::to_string(trial.value()) + ": " + text);
}

}  // namespace tune::test
