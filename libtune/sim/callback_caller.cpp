#include "callback_caller.hpp"

#include <exception>
#include <utility>

namespace tune::sim {
namespace {

/// What the callback's own code throws, in words; empty if it goes well.
std::string fault_of(const std::function<void()>& call) {
  try {
    call();
    return {};
  } catch (const std::exception& error) {
    return std::string(": ") + error.what();
  } catch (...) {
    return ": unknown exception";
  }
}

}  // namespace

void CallbackCaller::tell(const std::function<void(Callback&)>& call) {
  std::erase_if(callbacks_, [&](const std::shared_ptr<Callback>& callback) {
    const std::string fault = fault_of([&] { call(*callback); });
    if (fault.empty()) return false;
    std::string name = "(name() threw)";
    (void)fault_of([&] { name = callback->name(); });
    warn_("callback " + name + " threw and is switched off" + fault);
    return true;
  });
}

void CallbackCaller::begin(const ExperimentInfo& experiment) {
  tell([&](Callback& callback) { callback.on_experiment_start(experiment); });
}

void CallbackCaller::on(const engine::RecordTrialAdded& record) {
  TrialInfo& trial = trials_[record.trial];
  trial.id = record.trial;
  trial.name = record.name;
  trial.config = record.config;
}

void CallbackCaller::on(const engine::RecordTrialStarted& record) {
  TrialInfo& trial = trials_[record.start.trial];
  trial.config = record.start.config;
  trial.incarnation = record.start.incarnation;
  trial.start_iteration = record.start.start_iteration;
  trial.node = "node" + std::to_string(record.start.node.value());
  tell([&](Callback& callback) { callback.on_trial_start(trial); });
}

void CallbackCaller::on(const engine::RecordResult& record) {
  const auto found = trials_.find(record.trial);
  if (found == trials_.end()) return;  // it has ended: that was the last word of it
  tell([&](Callback& callback) { callback.on_trial_result(found->second, record.result); });
}

void CallbackCaller::on(const engine::RecordCheckpoint& record) {
  const auto found = trials_.find(record.trial);
  if (found == trials_.end()) return;
  const Checkpoint checkpoint{.path = {}, .training_iteration = record.training_iteration};
  tell([&](Callback& callback) { callback.on_trial_checkpoint(found->second, checkpoint); });
}

void CallbackCaller::on(const engine::RecordTrialState& record) {
  const auto found = trials_.find(record.trial);
  if (found == trials_.end()) return;
  const TrialEnd end{record.state, record.reason, record.error};
  const bool will_retry = record.state == TrialState::pending && !record.error.empty();
  if (record.state == TrialState::terminated) {
    tell([&](Callback& callback) { callback.on_trial_completed(found->second, end); });
  } else if (record.state == TrialState::error || will_retry) {
    tell([&](Callback& callback) { callback.on_trial_failed(found->second, end, will_retry); });
  }
  if (record.state == TrialState::terminated || record.state == TrialState::error) {
    trials_.erase(found);
  }
}

void CallbackCaller::end(const ExperimentInfo& experiment, const ExperimentEnd& end) {
  tell([&](Callback& callback) { callback.on_experiment_end(experiment, end); });
}

}  // namespace tune::sim
