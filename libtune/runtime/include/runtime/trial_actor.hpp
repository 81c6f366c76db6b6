#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <caf/actor_clock.hpp>
#include <caf/stateful_actor.hpp>

#include "runtime/messages.hpp"
#include "runtime/runner_pool.hpp"
#include "runtime/trial_run.hpp"

namespace tune::runtime {

/// Run this trial; the one before has ended.
struct StartOnThread {
  TrialRun run;
};
/// The trial's thread to its watch: there is something to take.
struct TrialSpoke {};
/// The watch to itself: the time that a trial had to end may be over.
struct GraceTimer {};

/// EndNode ends it.
using TrialActor = OrdersActor::extend<caf::reacts_to<StartOnThread>, caf::reacts_to<TrialSpoke>,
                                       caf::reacts_to<GraceTimer>, caf::reacts_to<EndNode>>;

struct TrialWatchSetup {
  AgentActor agent;
  std::shared_ptr<RunnerPool> pool;  // with the agent and the one who runs the experiment
  /// How long the training code may take to end once told so; infinite: for ever.
  std::chrono::duration<double> stop_grace{0};
};

/// Watches over trials on threads, one at a time: hands the trial's reports to the agent and orders
/// to its thread, and gives the thread up if it does not end in time. Always responsive: the
/// training code runs on a thread of the pool. Free for another trial once it has passed on the end
/// of one.
class TrialWatch {
 public:
  explicit TrialWatch(TrialActor::pointer self) : self_(self) {}
  /// Gives the thread up if the trial has not ended.
  ~TrialWatch();
  TrialWatch(const TrialWatch&) = delete;
  TrialWatch& operator=(const TrialWatch&) = delete;

  TrialActor::behavior_type make_behavior(TrialWatchSetup setup);

 private:
  using Clock = caf::actor_clock;

  void start(TrialRun run);
  void follow(TrialOrder& order);
  void start_grace();
  void set_timer(Clock::duration_type delay);
  void on_timer();
  void give_up(std::string message);
  void pass_on_news();

  TrialActor::pointer self_;
  TrialWatchSetup setup_;
  std::shared_ptr<TrialLink> link_;              // with the trial's thread; null between trials
  std::optional<Clock::time_point> has_to_end_;  // the trial, by then
  bool is_timer_set_ = false;
};

/// The body of the actor that watches over trials on threads.
TrialActor::behavior_type watch_trials(TrialActor::stateful_pointer<TrialWatch> self,
                                       TrialWatchSetup setup);

}  // namespace tune::runtime

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::StartOnThread)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::TrialSpoke)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::GraceTimer)
