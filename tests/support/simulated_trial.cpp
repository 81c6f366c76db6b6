#include "support/simulated_trial.hpp"

#include <utility>

#include "support/trial_log.hpp"

namespace tune::test {

SimulatedTrial::SimulatedTrial(engine::Launch launch, CheckpointOptions checkpoint,
                               bool saves_before_it_waits, TrialBehaviour& behaviour,
                               Surroundings& surroundings)
    : launch_(std::move(launch)),
      checkpoint_(checkpoint),
      saves_before_it_waits_(saves_before_it_waits),
      behaviour_(behaviour),
      surroundings_(surroundings),
      iteration_(launch_.start_iteration),
      time_total_s_(launch_.start_time_total_s),
      horizon_(launch_.horizon) {}

void SimulatedTrial::start() {
  if (launch_.checkpoint) {
    // Looked at before any training code runs.
    const std::string damage = behaviour_.damage(launch_);
    if (!damage.empty()) {
      tell(engine::Started{});
      return end(engine::EndKind::damaged, damage);
    }
  }
  const StepOutcome outcome = behaviour_.setup(launch_);
  if (!outcome.is_silent) tell(engine::Started{});
  surroundings_.after(outcome.seconds, [this, outcome] { set_up(outcome); });
}

void SimulatedTrial::set_up(const StepOutcome& outcome) {
  if (has_ended()) return;
  switch (outcome.kind) {
    case StepOutcome::Kind::fail:
      return end(engine::EndKind::failed, outcome.message);
    case StepOutcome::Kind::invalid:
      return end(engine::EndKind::invalid, outcome.message);
    case StepOutcome::Kind::end:
    case StepOutcome::Kind::report:
      return load();
  }
}

void SimulatedTrial::load() {
  if (launch_.checkpoint) {
    weights_ = surroundings_.load_checkpoint(launch_);
    const std::string failure = behaviour_.load(launch_);
    if (!failure.empty()) return end(engine::EndKind::failed, failure);
    if (launch_.adopt_as) {
      surroundings_.store_checkpoint({launch_.trial_name, *launch_.adopt_as}, weights_);
      tell(engine::CheckpointStored{*launch_.adopt_as, iteration_, time_total_s_});
    }
    saved_iteration_ = iteration_;
  }
  step_boundary();
}

void SimulatedTrial::begin_step() {
  state_ = State::stepping;
  const StepOutcome outcome = behaviour_.step(launch_, iteration_ + 1);
  surroundings_.after(outcome.seconds, [this, outcome] { finish_step(outcome); });
}

void SimulatedTrial::finish_step(const StepOutcome& outcome) {
  if (has_ended()) return;
  switch (outcome.kind) {
    case StepOutcome::Kind::fail:
      return end(engine::EndKind::failed, outcome.message);
    case StepOutcome::Kind::invalid:
      return end(engine::EndKind::invalid, outcome.message);
    case StepOutcome::Kind::end:
      if (checkpoint_.at_end) store();
      return end(engine::EndKind::finished);
    case StepOutcome::Kind::report:
      return report(outcome);
  }
}

void SimulatedTrial::report(const StepOutcome& outcome) {
  ++iteration_;
  weights_ = weights_after(launch_.trial, launch_.incarnation, iteration_);
  time_total_s_ += outcome.seconds;
  Result result;
  result.metrics = outcome.metrics;
  result.training_iteration = iteration_;
  result.time_this_iter_s = outcome.seconds;
  result.time_total_s = time_total_s_;
  result.done = outcome.done;
  tell(engine::Reported{result});
  last_result_ = result;
  if (outcome.done) {
    if (checkpoint_.at_end) store();
    return end(engine::EndKind::finished);
  }
  save_due_ = outcome.save || (checkpoint_.every > 0 && iteration_ % checkpoint_.every == 0);
  if (save_due_ && saves_before_it_waits_) {
    store();
    save_due_ = false;
  }
  step_boundary();
}

void SimulatedTrial::step_boundary() {
  const bool must_wait = last_result_ && horizon_.is_reached(*last_result_);
  if (order_ != Order::none || save_ordered_) {
    if (must_wait || steps_before_it_obeys_ == 0) {
      if (order_ == Order::stop) {
        if (save_at_stop_) store();
        return end(engine::EndKind::stopped);
      }
      if (save_ordered_ || order_ == Order::pause) {
        save_ordered_ = false;
        save_due_ = false;
        const bool stored = store();
        if (order_ == Order::pause) {
          return stored ? end(engine::EndKind::paused)
                        : end(engine::EndKind::failed, "could not save");
        }
      }
    } else {
      --steps_before_it_obeys_;
    }
  }
  if (must_wait && horizon_.is_end(*last_result_)) {
    if (checkpoint_.at_end) store();
    return end(engine::EndKind::stopped);
  }
  if (must_wait) return wait();
  if (save_due_) {
    store();
    save_due_ = false;
  }
  begin_step();
}

void SimulatedTrial::wait() {
  state_ = State::waiting;
  const std::optional<double> life = behaviour_.dies_waiting(launch_, iteration_);
  if (!life) return;
  surroundings_.after(*life, [this, waited_at = iteration_] {
    if (is_waiting() && iteration_ == waited_at) end(engine::EndKind::failed, "killed");
  });
}

void SimulatedTrial::proceed(const engine::Horizon& horizon) {
  if (has_ended()) return;
  horizon_ = horizon;
  if (is_waiting() && !horizon_.is_reached(*last_result_)) step_boundary();
}

void SimulatedTrial::save() {
  save_ordered_ = true;
  take_order(Order::none);
}

void SimulatedTrial::pause() { take_order(Order::pause); }

void SimulatedTrial::stop(bool save) {
  save_at_stop_ = save;
  take_order(Order::stop);
}

void SimulatedTrial::take_order(Order order) {
  if (has_ended()) return;
  if (order != Order::none) {
    if (order_ == Order::none && behaviour_.ignores_stop(launch_)) {
      return end(engine::EndKind::abandoned, "did not end in time");
    }
    if (order_ != Order::stop) order_ = order;
  }
  if (is_waiting()) return step_boundary();
  steps_before_it_obeys_ = behaviour_.steps_before_it_obeys(launch_);
}

bool SimulatedTrial::store() {
  if (saved_iteration_ == iteration_) return true;
  const std::string failure = behaviour_.save(launch_, iteration_);
  if (!failure.empty()) {
    tell(engine::CheckpointFailed{iteration_, failure});
    return false;
  }
  surroundings_.store_checkpoint({launch_.trial_name, directory()}, weights_);
  tell(engine::CheckpointStored{directory(), iteration_, time_total_s_});
  saved_iteration_ = iteration_;
  return true;
}

void SimulatedTrial::end(engine::EndKind kind, const std::string& message) {
  tell(engine::Ended{kind, message});
  state_ = State::ended;
}

void SimulatedTrial::tell(engine::TrialReport report) {
  surroundings_.send({launch_.trial, launch_.incarnation, next_sequence_++, std::move(report)});
}

std::string SimulatedTrial::directory() const {
  return engine::own_checkpoint_name(launch_, iteration_);
}

std::string SimulatedTrial::describe() const {
  static constexpr const char* states[] = {"starting", "stepping", "waiting", "ended"};
  static constexpr const char* orders[] = {"", ", told to pause", ", told to stop"};
  return "trial " + std::to_string(launch_.trial.value()) + " incarnation " +
         std::to_string(launch_.incarnation) + " on node " + std::to_string(launch_.node.value()) +
         ": " + states[static_cast<int>(state_)] + " at iteration " + std::to_string(iteration_) +
         orders[static_cast<int>(order_)];
}

}  // namespace tune::test
