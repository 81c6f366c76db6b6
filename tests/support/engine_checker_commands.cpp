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
  const std::string weights = check_source(trial, command);
  ledger_.grant(command.node, command.grant);
  trial.launches.push_back(command);
  trial.running = RunningStart{};
  trial.running->launch = command;
  trial.running->weights = weights;
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

std::string EngineChecker::check_source(const TrialLog& trial, const engine::Launch& launch) const {
  if (launch.adopt_as) return check_adoption(trial, launch);
  const std::string start = "started from iteration " + std::to_string(launch.start_iteration);
  if (trial.checkpoints.empty()) {
    if (launch.checkpoint || launch.start_iteration != 0 || launch.start_time_total_s != 0) {
      broken(launch.trial, start + " though it has no checkpoint");
    }
    if (!(launch.config == trial.first_config)) {
      broken(launch.trial, "starts anew with another configuration than its first");
    }
    return {};
  }
  const CheckpointLog& checkpoint = trial.checkpoints.back();
  if (!launch.checkpoint || launch.checkpoint->trial_name != trial.name ||
      launch.checkpoint->directory_name != checkpoint.directory_name ||
      launch.start_iteration != checkpoint.training_iteration ||
      launch.start_time_total_s != checkpoint.time_total_s) {
    broken(launch.trial, start + ", not from its newest checkpoint, " + checkpoint.directory_name);
  }
  if (!(launch.config == checkpoint.config)) {
    broken(launch.trial, start + " with another configuration than the checkpoint's");
  }
  return checkpoint.weights;
}

std::string EngineChecker::check_adoption(const TrialLog& trial,
                                          const engine::Launch& launch) const {
  if (!launch.checkpoint) broken(launch.trial, "adopts no checkpoint");
  const auto source = names_.find(launch.checkpoint->trial_name);
  if (source == names_.end()) broken(launch.trial, "adopts a checkpoint of no trial");
  const TrialLog& donor = trials_.at(source->second);
  const bool exists =
      std::any_of(donor.checkpoints.begin(), donor.checkpoints.end(), [&](const auto& checkpoint) {
        return checkpoint.directory_name == launch.checkpoint->directory_name;
      });
  if (!exists) broken(launch.trial, "adopts a checkpoint that is not recorded or deleted");
  const CheckpointLog* decided = nullptr;
  for (const Exploit& exploit : exploits_.at(launch.trial)) {
    if (exploit.source != source->second || !(exploit.config == launch.config)) continue;
    for (const CheckpointLog& newest : exploit.newest) {
      if (newest.directory_name == launch.checkpoint->directory_name) decided = &newest;
    }
  }
  if (decided == nullptr) broken(launch.trial, "adopts what nobody decided");
  const double time = trial.line.empty() ? 0 : trial.line.back().time_total_s;
  if (launch.start_iteration != static_cast<std::int64_t>(trial.line.size()) ||
      launch.start_time_total_s != time) {
    broken(launch.trial, "its counters do not go on: " + std::to_string(trial.line.size()) +
                             " results, goes on from " + std::to_string(launch.start_iteration));
  }
  return decided->weights;
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

void EngineChecker::on(const engine::DeleteCheckpoint& command) {
  const engine::CheckpointLocation& location = command.checkpoint;
  const auto name = names_.find(location.trial_name);
  if (name == names_.end()) throw BrokenInvariant("deletes a checkpoint of no trial");
  auto& checkpoints = trials_.at(name->second).checkpoints;
  const auto found = std::find_if(checkpoints.begin(), checkpoints.end(), [&](const auto& log) {
    return log.directory_name == location.directory_name;
  });
  if (found == checkpoints.end()) {
    broken(name->second, "deletes " + location.directory_name + ", which is not recorded");
  }
  if (is_checkpoint_needed(location)) {
    broken(name->second, "deletes " + location.directory_name + ", which a launch needs");
  }
  if (static_cast<std::int64_t>(checkpoints.size()) <= options_.checkpoint.keep ||
      std::next(found) == checkpoints.end()) {
    broken(name->second, "deletes " + location.directory_name + ", one of the newest to keep");
  }
  checkpoints.erase(found);
}

void EngineChecker::on(const engine::SetTimer& command) {
  if (command.at < now_) throw BrokenInvariant("sets a timer in the past");
  if (options_.time_budget && command.at == *options_.time_budget) budget_timer_ = command.timer;
}

}  // namespace tune::test
