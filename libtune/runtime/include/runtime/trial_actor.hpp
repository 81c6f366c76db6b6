#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <caf/stateful_actor.hpp>

#include "runtime/messages.hpp"
#include "runtime/runner_pool.hpp"
#include "runtime/trial_run.hpp"

namespace tune::runtime {

struct TrialSetup {
  AgentActor agent;
  std::shared_ptr<RunnerPool> pool;  // with the agent and the one who runs the experiment
  TrialRun run;
  /// How long the training code may take to end once told so; infinite: for ever.
  std::chrono::duration<double> stop_grace{0};
};

/// Watches over one start of a trial: hands its reports to the agent and orders to its thread, and
/// gives the thread up if it does not end in time. Always responsive: the training code runs on a
/// thread of the pool. Ends with the trial.
class TrialWatch {
 public:
  explicit TrialWatch(TrialActor::pointer self) : self_(self) {}
  /// Gives the thread up if the trial has not ended.
  ~TrialWatch();
  TrialWatch(const TrialWatch&) = delete;
  TrialWatch& operator=(const TrialWatch&) = delete;

  TrialActor::behavior_type make_behavior(TrialSetup setup);

 private:
  void follow(TrialOrder& order);
  void start_grace();
  void give_up(std::string message);
  void pass_on_news();

  TrialActor::pointer self_;
  TrialSetup setup_;
  std::shared_ptr<TrialLink> link_;  // with the trial's thread
  std::uint64_t end_orders_ = 0;
};

/// The body of the actor of one start of a trial.
TrialActor::behavior_type watch_trial(TrialActor::stateful_pointer<TrialWatch> self,
                                      TrialSetup setup);

}  // namespace tune::runtime
