#include <algorithm>
#include <variant>

#include "support/broken_invariant.hpp"
#include "support/engine_checker.hpp"

namespace tune::test {

CheckpointLog EngineChecker::check_source(const TrialLog& trial,
                                          const engine::Launch& launch) const {
  if (launch.adopt_as) return check_adoption(trial, launch);
  const std::string start = "started from iteration " + std::to_string(launch.start_iteration);
  if (trial.has_lost_all()) broken(launch.trial, start + " though all its checkpoints are damaged");
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
  return checkpoint;
}

CheckpointLog EngineChecker::check_adoption(const TrialLog& trial,
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
  return *decided;
}

// --- what is stored, kept and deleted

std::optional<Objective> EngineChecker::checkpoint_objective() const {
  const CheckpointOptions& options = options_.checkpoint;
  if (options.metric.empty()) return options_.objective;
  if (!options.mode) return Objective{options.metric, options_.objective->mode};
  return Objective{options.metric, *options.mode};
}

double EngineChecker::score_of(const TrialLog& trial, std::int64_t iteration) const {
  const auto objective = checkpoint_objective();
  if (!objective || iteration == 0) return worst_value();
  const Result& result = trial.line.at(static_cast<std::size_t>(iteration) - 1);
  return result.number(objective->metric).value_or(worst_value());
}

bool EngineChecker::must_be_kept(const TrialLog& trial, const CheckpointLog& checkpoint) const {
  const CheckpointLog* const end = trial.checkpoints.data() + trial.checkpoints.size();
  if (end - &checkpoint <= options_.checkpoint.keep) return true;
  if (options_.checkpoint.keep_best == 0) return false;
  const Mode mode = checkpoint_objective()->mode;
  const auto better = std::count_if(
      trial.checkpoints.begin(), trial.checkpoints.end(), [&](const CheckpointLog& other) {
        if (is_better(mode, other.score, checkpoint.score)) return true;
        return !is_better(mode, checkpoint.score, other.score) && &other > &checkpoint;
      });
  return better < options_.checkpoint.keep_best;
}

void EngineChecker::on(const engine::RecordCheckpoint& command) {
  TrialLog& trial = unended(command.trial, "a checkpoint recorded");
  const Arrival& arrival = next_arrival(command.trial, command.incarnation, false);
  const auto& stored = std::get<engine::CheckpointStored>(arrival.report);
  if (stored.training_iteration != command.training_iteration ||
      stored.directory_name != command.directory_name) {
    broken(command.trial, "a checkpoint is recorded otherwise than it was stored");
  }
  if (static_cast<std::int64_t>(trial.line.size()) < command.training_iteration) {
    broken(command.trial, "a checkpoint is recorded before the results that it covers");
  }
  if (!trial.used_names.insert(command.directory_name).second) {
    broken(command.trial, "a second checkpoint has the name " + command.directory_name);
  }
  const RunningStart& start = trial.running ? *trial.running : ended_now_.at(command.trial);
  const bool is_loaded = command.training_iteration == start.launch.start_iteration;
  const CheckpointLog log{
      .training_iteration = command.training_iteration,
      .directory_name = command.directory_name,
      .weights =
          is_loaded ? start.weights
                    : weights_after(command.trial, command.incarnation, command.training_iteration),
      .time_total_s = stored.time_total_s,
      .config = start.launch.config,
      .score = is_loaded ? start.score : score_of(trial, command.training_iteration)};
  trial.checkpoints.push_back(log);
  trial.checkpoint_records.push_back(command.training_iteration);
  for (auto& [target, exploits] : exploits_) {
    for (Exploit& exploit : exploits) {
      if (exploit.is_new && exploit.source == command.trial) exploit.newest.push_back(log);
    }
  }
}

// What it stands for was recorded before: the checkpoints that take its place are in the books.
void EngineChecker::on(const engine::DeleteCheckpoint& command) {
  const engine::CheckpointLocation& location = command.checkpoint;
  const auto name = names_.find(location.trial_name);
  if (name == names_.end()) throw BrokenInvariant("deletes a checkpoint of no trial");
  TrialLog& trial = trials_.at(name->second);
  const auto found =
      std::find_if(trial.checkpoints.begin(), trial.checkpoints.end(),
                   [&](const auto& log) { return log.directory_name == location.directory_name; });
  if (found == trial.checkpoints.end()) {
    broken(name->second, "deletes " + location.directory_name + ", which is not recorded");
  }
  if (is_checkpoint_needed(location)) {
    broken(name->second, "deletes " + location.directory_name + ", which a launch needs");
  }
  // What an ended trial keeps was settled at its end, whatever was found damaged since.
  const bool was_settled = trial.has_ended() && !trial.damaged.empty();
  if (!was_settled && must_be_kept(trial, *found)) {
    broken(name->second, "deletes " + location.directory_name + ", one of those to keep");
  }
  trial.checkpoints.erase(found);
}

// --- damage

// From now on nobody may load it.
void EngineChecker::note_damage(const RunningStart& running) {
  const engine::CheckpointLocation& location = *running.launch.checkpoint;
  TrialLog& owner = trials_.at(names_.at(location.trial_name));
  owner.damaged.insert(location.directory_name);
  std::erase_if(owner.checkpoints, [&](const CheckpointLog& log) {
    return log.directory_name == location.directory_name;
  });
}

void EngineChecker::on(const engine::RecordCheckpointDamaged& command) {
  TrialLog& trial = known(command.trial, "a damaged checkpoint recorded");
  if (!trial.damaged.contains(command.directory_name)) {
    broken(command.trial, "nobody found " + command.directory_name + " damaged");
  }
  trial.damage_records.insert(command.directory_name);
}

void EngineChecker::check_checkpoints(TrialId id, const TrialLog& trial) const {
  if (trial.damage_records != trial.damaged) broken(id, "a damaged checkpoint is not recorded");
  if (trial.has_lost_all() && !trial.running && !trial.has_ended() && !exploits_.contains(id)) {
    broken(id, "has no usable checkpoint and waits");
  }
  // Those that a clone was decided on stay until it has them.
  const auto needed = std::count_if(exploits_.begin(), exploits_.end(), [&](const auto& entry) {
    return !trials_.at(entry.first).has_ended() &&
           std::any_of(entry.second.begin(), entry.second.end(),
                       [&](const Exploit& exploit) { return exploit.source == id; });
  });
  const auto more = std::count_if(
      trial.checkpoints.begin(), trial.checkpoints.end(),
      [&](const CheckpointLog& checkpoint) { return !must_be_kept(trial, checkpoint); });
  if (more > needed) {
    broken(id, "keeps " + std::to_string(trial.checkpoints.size()) + " checkpoints");
  }
}

}  // namespace tune::test
