#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <tune/error.hpp>

#include "core/number_text.hpp"
#include "stage.hpp"

namespace tune::sim {
namespace {

void check_seconds(double seconds, const SimulatedStart& start, std::int64_t iteration) {
  if (seconds >= 0 && std::isfinite(seconds)) return;
  throw std::invalid_argument("workload: trial " + std::to_string(start.trial.value()) +
                              ", iteration " + std::to_string(iteration) + " takes " +
                              core::number_text(seconds) + " s, must be at least 0 and finite");
}

/// What training code throws becomes the text of a failure; true if it refused its configuration.
template <class Call>
bool run_guarded(Call call, std::string& failure) {
  try {
    call();
  } catch (const InvalidConfig& error) {
    failure = error.what();
    return true;
  } catch (const std::exception& error) {
    failure = *error.what() != '\0' ? error.what() : "exception";
  } catch (...) {
    failure = "unknown exception";
  }
  return false;
}

}  // namespace

void Stage::begin(Running& trial) {
  const engine::Launch& launch = trial.launch;
  trial.iteration = launch.start_iteration;
  trial.time_total_s = launch.start_time_total_s;
  trial.begun_s = now_s_;
  trial.slowness = faults_.slowness(launch.trial, launch.incarnation);
  if (launch.checkpoint) {
    const auto found =
        stored_.find(stored_key(launch.checkpoint->trial_name, launch.checkpoint->directory_name));
    TUNE_ASSERT(found != stored_.end());
    if (launch.adopt_as) trial.start.clone_of = found->second.owner;
  }
  SimulatedSetup setup;
  trial.is_invalid = run_guarded([&] { setup = workload_.begin(trial.start); }, trial.failure);
  check_seconds(setup.seconds, trial.start, trial.iteration);
  double life = faults_.dropped_after(launch.trial, launch.incarnation);
  if (setup.lost_after) life = std::min(life, *setup.lost_after);
  trial.dies_at_s = now_s_ + life;
  tell(trial, engine::Started{});
  trial.phase = Phase::starting;
  schedule(trial, cluster_.startup_s + setup.seconds + (launch.checkpoint ? cluster_.load_s : 0));
}

void Stage::set_up(Running& trial) {
  const engine::Launch& launch = trial.launch;
  if (trial.failure.empty() && launch.checkpoint) {
    const auto found =
        stored_.find(stored_key(launch.checkpoint->trial_name, launch.checkpoint->directory_name));
    TUNE_ASSERT(found != stored_.end());
    const std::any state = found->second.state;
    trial.is_invalid = run_guarded([&] { workload_.load(trial.start, state); }, trial.failure);
  }
  if (!trial.failure.empty()) {
    return end(trial, trial.is_invalid ? engine::EndKind::invalid : engine::EndKind::failed,
               trial.failure);
  }
  if (launch.checkpoint) trial.saved = trial.iteration;
  if (launch.adopt_as) store(trial, *launch.adopt_as);
  boundary(trial);
}

// A phase without duration is not worth a place in the heap.
void Stage::schedule(Running& trial, double seconds) {
  double at = now_s_ + seconds;
  if (trial.dies_at_s < at) {
    at = trial.dies_at_s;
    trial.is_dying = true;
  } else if (seconds == 0 && trial.phase != Phase::stepping) {
    return on_due(trial);
  }
  heap_.put(at, {.what = What::trial,
                 .place = static_cast<std::uint32_t>(&trial - running_.data()),
                 .generation = trial.generation});
}

void Stage::on_due(Running& trial) {
  if (trial.is_dying) return end(trial, engine::EndKind::failed, "dropped");
  switch (trial.phase) {
    case Phase::starting:
      return set_up(trial);
    case Phase::stepping:
      return finish_step(trial);
    case Phase::saving:
      store(trial, engine::own_checkpoint_name(trial.launch, trial.iteration));
      return boundary(trial);
    case Phase::waiting:
      return;
  }
}

void Stage::begin_step(Running& trial) {
  trial.phase = Phase::stepping;
  trial.step = {};
  trial.is_invalid = run_guarded(
      [&] { trial.step = workload_.step(trial.start, trial.iteration + 1); }, trial.failure);
  check_seconds(trial.step.seconds, trial.start, trial.iteration + 1);
  if (trial.failure.empty()) trial.failure = std::move(trial.step.failure);
  trial.step_seconds = trial.step.seconds * trial.slowness;
  if (setup_.step_timeout_s > 0 && trial.step_seconds > setup_.step_timeout_s) {
    trial.step_seconds = setup_.step_timeout_s;
    trial.failure =
        "a step took longer than step_timeout, " + core::number_text(setup_.step_timeout_s) + " s";
  }
  schedule(trial, trial.step_seconds);
}

void Stage::finish_step(Running& trial) {
  if (!trial.failure.empty()) {
    return end(trial, trial.is_invalid ? engine::EndKind::invalid : engine::EndKind::failed,
               trial.failure);
  }
  if (faults_.fails(trial.launch.trial, trial.launch.incarnation, trial.iteration + 1)) {
    return end(trial, engine::EndKind::failed, "a simulated failure");
  }
  if (trial.step.done && trial.step.metrics.empty()) {
    trial.finishing = true;
  } else {
    report(trial);
  }
  boundary(trial);
}

void Stage::report(Running& trial) {
  ++trial.iteration;
  trial.time_total_s += trial.step_seconds;
  Result result;
  result.metrics = std::move(trial.step.metrics);
  result.training_iteration = trial.iteration;
  result.time_this_iter_s = trial.step_seconds;
  result.time_total_s = trial.time_total_s;
  result.timestamp = now_s_;
  result.done = trial.finishing = trial.step.done;
  const std::int64_t every = setup_.checkpoint.every;
  if (every > 0 && trial.iteration % every == 0) trial.save_due = true;
  // Only of one that reaches the horizon the trial has to remember anything.
  trial.last.reset();
  if (!result.done && trial.launch.horizon.is_reached(result)) trial.last = result;
  tell(trial, engine::Reported{std::move(result)});
}

// Where orders are heeded: between two steps.
void Stage::boundary(Running& trial) {
  if (must_save(trial)) return begin_save(trial);
  trial.save_due = false;
  if (trial.finishing) return end(trial, engine::EndKind::finished);
  if (trial.stop) return end(trial, engine::EndKind::stopped);
  if (trial.pause) return end(trial, engine::EndKind::paused);
  if (trial.last && trial.launch.horizon.is_reached(*trial.last)) {
    trial.phase = Phase::waiting;
    return;
  }
  begin_step(trial);
}

bool Stage::must_save(const Running& trial) const {
  if (!can_save_ || trial.saved == trial.iteration) return false;
  if (trial.finishing && setup_.checkpoint.at_end) return true;
  return trial.save_due || (trial.stop ? trial.save_at_stop : trial.pause);
}

void Stage::begin_save(Running& trial) {
  trial.phase = Phase::saving;
  schedule(trial, cluster_.save_s);
}

void Stage::store(Running& trial, const std::string& directory) {
  trial.saved = trial.iteration;
  std::any state;
  std::string failure;
  (void)run_guarded([&] { state = workload_.save(trial.start, trial.iteration); }, failure);
  if (!failure.empty()) return tell(trial, engine::CheckpointFailed{trial.iteration, failure});
  stored_[stored_key(trial.launch.trial_name, directory)] = {trial.launch.trial, std::move(state)};
  tell(trial, engine::CheckpointStored{directory, trial.iteration, trial.time_total_s});
}

void Stage::end(Running& trial, engine::EndKind kind, const std::string& message) {
  tell(trial, engine::Ended{kind, message});
  release(trial, kind == engine::EndKind::finished  ? SimulatedEnd::finished
                 : kind == engine::EndKind::stopped ? SimulatedEnd::stopped
                 : kind == engine::EndKind::paused  ? SimulatedEnd::paused
                                                    : SimulatedEnd::failed);
}

void Stage::release(Running& trial, SimulatedEnd how) {
  workload_.end(trial.start, how);
  const auto place = static_cast<std::uint32_t>(&trial - running_.data());
  out_.busy_s += now_s_ - trial.begun_s;
  place_of_.erase(trial.launch.trial.value());
  in_use_ = place_of_.empty() ? 0 : in_use_ - trial.share;
  ++trial.generation;
  trial.is_live = false;
  trial.last.reset();
  free_places_.push_back(place);
}

void Stage::tell(Running& trial, engine::TrialReport&& report) {
  inbox_.emplace_back(engine::TrialMessage{trial.launch.trial, trial.launch.incarnation,
                                           trial.sequence++, std::move(report)});
}

}  // namespace tune::sim
