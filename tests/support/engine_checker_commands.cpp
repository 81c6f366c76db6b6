#include <algorithm>
#include <variant>

#include "support/broken_invariant.hpp"
#include "support/engine_checker.hpp"
#include "support/engine_text.hpp"

namespace tune::test {

TrialLog& EngineChecker::known(TrialId id, const std::string& what) {
  const auto found = trials_.find(id);
  if (found == trials_.end()) broken(id, what + " before it was added");
  return found->second;
}

TrialLog& EngineChecker::unended(TrialId id, const std::string& what) {
  TrialLog& trial = known(id, what);
  if (trial.has_ended()) {
    broken(id, what + " though it ended as " + std::string(to_string(trial.state)));
  }
  return trial;
}

// --- to the searcher

void EngineChecker::on(const engine::AskSearcher& command) {
  if (ending_) broken(command.trial, "asked for though the experiment ends");
  if (is_exhausted_) broken(command.trial, "asked for though the searcher is exhausted");
  const std::uint64_t id = command.trial.value();
  if (asked_again_ ? command.trial != *asked_again_ : id != next_trial_) {
    broken(command.trial, "asked for out of order");
  }
  asked_again_.reset();
  next_trial_ = std::max(next_trial_, id + 1);
  asked_.push_back(command.trial);
  if (options_.max_trials && next_trial_ > *options_.max_trials) {
    broken(command.trial, "asked for beyond max_trials");
  }
  const auto asked = static_cast<std::int64_t>(asked_.size());
  if (options_.max_concurrent > 0 && count_running() + asked > options_.max_concurrent) {
    broken(command.trial, "asked for beyond max_concurrent");
  }
  if (options_.resources.of) return;  // what it needs is not known
  const ResourceAmounts request(options_.resources);
  const bool will_be_refused = options_.fixed_cluster && !ledger_.is_feasible(request);
  if (!will_be_refused && ledger_.count_fits(request, asked) < asked) {
    broken(command.trial, "asked for though no slot is free for it");
  }
}

void EngineChecker::on(const engine::TellSearcherResult& command) {
  TrialLog& trial = known(command.trial, "a result for the searcher");
  if (!options_.searcher_wants_results) broken(command.trial, "the searcher wants no results");
  if (command.result.training_iteration <= trial.searcher_told) {
    broken(command.trial, "iteration " + std::to_string(command.result.training_iteration) +
                              " told to the searcher again");
  }
  if (trial.is_told) broken(command.trial, "a result for the searcher after the end");
  trial.searcher_told = command.result.training_iteration;
}

TrialLog& EngineChecker::told_end(TrialId id, TrialState state) {
  TrialLog& trial = known(id, "its end for the searcher");
  if (trial.is_told) broken(id, "its end is told to the searcher twice");
  trial.is_told = true;
  // The record may come before or after; note which one it must be.
  if (trial.has_ended() && trial.state != state) {
    broken(id, "recorded as " + std::string(to_string(trial.state)) + ", told to the searcher as " +
                   std::string(to_string(state)));
  }
  return trial;
}

void EngineChecker::on(const engine::TellSearcherCompleted& command) {
  told_end(command.trial, TrialState::terminated);
}

void EngineChecker::on(const engine::TellSearcherFailed& command) {
  const TrialLog& trial = told_end(command.trial, TrialState::error);
  if (command.infeasible != trial.was_invalid) {
    broken(command.trial, "told to the searcher with the wrong mark of infeasibility");
  }
}

// --- to a node

void EngineChecker::on(const engine::Launch& command) {
  TrialLog& trial = unended(command.trial, "launched");
  if (ending_) broken(command.trial, "launched though the experiment ends");
  if (trial.running) broken(command.trial, "launched while it runs");
  if (trial.retry_at_s && now_.count() < *trial.retry_at_s) {
    broken(command.trial, "launched before its pause is over");
  }
  if (trial.stop_decided) broken(command.trial, "launched though it was decided to stop");
  if (!trial.launches.empty() && command.incarnation <= trial.launches.back().incarnation) {
    broken(command.trial, "incarnation " + std::to_string(command.incarnation) + " after " +
                              std::to_string(trial.launches.back().incarnation));
  }
  if (!trial.launches.empty() && command.seed != trial.launches.back().seed) {
    broken(command.trial, "another seed at another start");
  }
  if (command.trial_name != trial.name) broken(command.trial, "launched under another name");
  check_request(command);
  const CheckpointLog source = check_source(trial, command);
  ledger_.grant(command.node, command.grant);
  trial.launches.push_back(command);
  trial.running = RunningStart{};
  trial.running->launch = command;
  trial.running->weights = source.weights;
  trial.running->score = source.score;
  trial.running->horizon = command.horizon;
  trial.running->needs_checkpoint = command.checkpoint.has_value();
  trial.state = TrialState::running;
  trial.change_decided = false;
  if (options_.max_concurrent > 0 && count_running() > options_.max_concurrent) {
    broken(command.trial, "launched beyond max_concurrent");
  }
}

void EngineChecker::check_request(const engine::Launch& launch) const {
  if (launch.grant.amounts.amounts().empty() && options_.max_concurrent <= 0) {
    broken(launch.trial, "runs on nothing, and nothing bounds how many do");
  }
  // Other resources may be asked for within the event, before or after this launch.
  std::vector<Resources> allowed;
  if (const auto own = requests_.find(launch.trial); own != requests_.end()) allowed = own->second;
  if (allowed.empty() || !calls_.empty()) allowed.insert(allowed.begin(), options_.resources);
  for (auto it = allowed.rbegin(); it != allowed.rend(); ++it) {
    const Resources request = it->of ? it->of(launch.config) : *it;
    if (ResourceAmounts(request) == launch.grant.amounts) return;
  }
  broken(launch.trial, "granted " + launch.grant.amounts.describe() + ", which is not its request");
}

RunningStart& EngineChecker::ordered(TrialId id, std::uint32_t incarnation, NodeId node,
                                     const std::string& what) {
  TrialLog& trial = known(id, what);
  RunningStart* start = trial.running ? &*trial.running : nullptr;
  if (start == nullptr || start->launch.incarnation != incarnation) {
    // It may have ended with this very event, later than what the command answers.
    const auto ended = ended_now_.find(id);
    start = ended == ended_now_.end() ? nullptr : &ended->second;
  }
  if (start == nullptr || start->launch.incarnation != incarnation) {
    broken(id, what + " to incarnation " + std::to_string(incarnation) + ", which does not run");
  }
  if (start->launch.node != node) broken(id, what + " to another node than it runs on");
  return *start;
}

void EngineChecker::on(const engine::Proceed& command) {
  RunningStart& start = ordered(command.trial, command.incarnation, command.node, "proceed");
  if (start.is_end_ordered()) broken(command.trial, "proceed after pause or stop");
  if (known(command.trial, "proceed").stop_decided) {
    broken(command.trial, "proceed though it was decided to stop");
  }
  start.horizon = command.horizon;
}

void EngineChecker::on(const engine::Save& command) {
  ordered(command.trial, command.incarnation, command.node, "save");
  if (!options_.trainable_checkpoints) broken(command.trial, "save, but it cannot");
}

void EngineChecker::on(const engine::Pause& command) {
  RunningStart& start = ordered(command.trial, command.incarnation, command.node, "pause");
  if (!options_.trainable_checkpoints) broken(command.trial, "pause, but it cannot save");
  if (start.is_end_ordered()) broken(command.trial, "pause after pause or stop");
  start.pause_ordered = true;
}

void EngineChecker::on(const engine::Stop& command) {
  RunningStart& start = ordered(command.trial, command.incarnation, command.node, "stop");
  if (command.save && !options_.trainable_checkpoints) {
    broken(command.trial, "stop with a save, but it cannot");
  }
  if (start.stop_ordered) broken(command.trial, "stop after stop");
  start.stop_ordered = true;
  stopped_now_.push_back(command.trial);
}

void EngineChecker::on(const engine::SetTimer& command) {
  if (command.at < now_) throw BrokenInvariant("sets a timer in the past");
  if (options_.time_budget && command.at == *options_.time_budget) budget_timer_ = command.timer;
}

}  // namespace tune::test
