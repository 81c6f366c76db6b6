#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tune/config.hpp>
#include <tune/ids.hpp>
#include <tune/mode.hpp>
#include <tune/random.hpp>
#include <tune/resources.hpp>
#include <tune/trial.hpp>

namespace tune {

/// Engine time: seconds since the experiment began, as events carry it.
using Time = std::chrono::duration<double>;

// What a scheduler asked for through its context, in the order of asking.
struct StopTrial {
  TrialId trial;
};
struct PauseTrial {
  TrialId trial;
};
struct UnpauseTrial {
  TrialId trial;
};
struct SaveTrial {
  TrialId trial;
};
struct ExploitTrial {
  TrialId target;
  TrialId source;
  Config config;
};
struct ChangeResources {
  TrialId trial;
  Resources resources;
};
struct DecisionHorizon {
  TrialId trial;
  double time;
};
struct Explanation {
  TrialId trial;
  std::string reason;
};
using SchedulerRequest = std::variant<StopTrial, PauseTrial, UnpauseTrial, SaveTrial, ExploitTrial,
                                      ChangeResources, DecisionHorizon, Explanation>;

/// What is kept of a trial that has ended.
struct FinishedTrial {
  TrialState state = TrialState::terminated;
  double last_target = 0;  ///< NaN if it had no result.
};

/// Whether further trials can come.
enum class NewTrials {
  possible,  ///< One was asked for, or will be where nothing is chosen.
  no_room,   ///< The same, but not now: there is no room for one. Only in choose_trial_to_run.
  waiting,   ///< The searcher has none until it is told something: a result or the end of a trial.
  none,      ///< The searcher has no more, or all that may be are there.
};

/// What a scheduler sees of the experiment and asks of it.
///
/// Requests are collected here and carried out by the engine after the call in which they were
/// made; so a scheduler is tested with a context alone: `SchedulerContext context(Mode::min)`.
class SchedulerContext {
 public:
  explicit SchedulerContext(Mode mode, std::uint64_t seed = 0) : mode_(mode), seed_(seed) {}

  [[nodiscard]] Mode mode() const { return mode_; }
  [[nodiscard]] Time now() const { return now_; }
  /// Trials that have not ended, by id.
  [[nodiscard]] const std::map<TrialId, Trial>& live_trials() const { return live_; }
  /// The live trials that are pending. In choose_trial_to_run without those that were chosen in
  /// this round and wait for a node: none that is there is big enough for them. Never with those
  /// that wait for their retry.
  [[nodiscard]] const std::set<TrialId>& pending_trials() const { return pending_; }
  /// Those that pending_trials() leaves out in this round, since no node is big enough for them.
  [[nodiscard]] const std::set<TrialId>& aside_trials() const { return aside_; }
  /// The live trials that are running.
  [[nodiscard]] const std::set<TrialId>& running_trials() const { return running_; }
  [[nodiscard]] const std::map<TrialId, FinishedTrial>& finished_trials() const {
    return finished_;
  }
  /// Whether further trials can come. Who lets paused trials wait for others must not do so where
  /// none will come and none is running. What was `none` may change when the experiment is run
  /// another time with more to do.
  [[nodiscard]] NewTrials new_trials() const { return new_trials_; }
  /// The live trial of that id; null if there is none.
  [[nodiscard]] const Trial* find(TrialId id) const;
  /// What each node that is there offers to trials, less what was lost with trials that did not
  /// end.
  [[nodiscard]] const std::map<NodeId, ResourceAmounts>& nodes() const { return nodes_; }
  /// A generator keyed by (experiment seed, "scheduler", trial, index): the same draws whatever the
  /// order of events.
  [[nodiscard]] Random random(TrialId id, std::uint64_t index = 0) const;

  // Each is legal in every state of a live trial and takes effect when the trial gets there; for
  // other ids nothing happens.

  /// Ends the trial at its next step boundary; results until then are recorded, not told.
  void stop(TrialId id);
  /// Saves the trial at its next step boundary and takes its slot.
  void pause(TrialId id);
  /// Lets a paused trial run again when there is a slot.
  void unpause(TrialId id);
  /// Asks for a checkpoint at the next step boundary.
  void save(TrialId id);
  /// Lets `target` go on from the newest stored checkpoint of `source` under `config`; its counters
  /// go on. False, and nothing happens, if the source has no stored checkpoint.
  bool exploit(TrialId target, TrialId source, Config config);
  /// Other resources from the trial's next start. A running trial is saved and started again; where
  /// the trainable cannot save it runs on with what it has, and a warning says so. They take the
  /// place of all that it asked for, labels and workers too: Trial::request() has those.
  void set_resources(TrialId id, Resources resources);
  /// Promises to answer `proceed` for each result of the trial with `time_attr` below `time`, so
  /// that it need not wait. Holds until the next call for this trial; infinity: for ever,
  /// -infinity: no longer, the next result is decided. @throws std::invalid_argument if `time` is
  /// NaN
  void no_decision_before(TrialId id, double time);
  /// The evidence of a decision (rung, cut-off, rank); recorded.
  void explain(TrialId id, std::string reason);
  /// In choose_trial_to_run: leaves the slot free.
  void hold() { held_ = true; }

  // For the engine, which owns the trials, and for tests.
  Trial& add(Trial trial);
  [[nodiscard]] Trial* find_mutable(TrialId id);
  /// @pre the trial is live
  void set_state(TrialId id, TrialState state);
  /// True: the trial is not among pending_trials() until this is called with false.
  /// @pre the trial is live
  void set_waits_for_retry(TrialId id, bool waits);
  /// Leaves the trial out of pending_trials() until the next put_back().
  void set_aside(TrialId id);
  void put_back();
  void finish(TrialId id, const FinishedTrial& finished);
  /// Forgets that a trial has ended; add() makes it live again.
  void unfinish(TrialId id) { finished_.erase(id); }
  void set_now(Time now) { now_ = now; }
  void set_nodes(std::map<NodeId, ResourceAmounts> nodes) { nodes_ = std::move(nodes); }
  void set_new_trials(NewTrials new_trials) { new_trials_ = new_trials; }
  [[nodiscard]] std::vector<SchedulerRequest> take_requests();
  [[nodiscard]] std::size_t request_count() const { return requests_.size(); }
  /// Takes those beyond the first `count` back.
  [[nodiscard]] std::vector<SchedulerRequest> take_requests_from(std::size_t count);
  void put_requests(std::vector<SchedulerRequest> requests);
  [[nodiscard]] bool has_requests() const { return !requests_.empty(); }
  [[nodiscard]] bool take_hold();

 private:
  void sort_in(TrialId id, const Trial& trial);

  Mode mode_;
  std::uint64_t seed_;
  Time now_{0};
  NewTrials new_trials_ = NewTrials::possible;
  std::map<TrialId, Trial> live_;
  std::set<TrialId> pending_;
  std::set<TrialId> aside_;
  std::set<TrialId> running_;
  std::map<NodeId, ResourceAmounts> nodes_;
  std::map<TrialId, FinishedTrial> finished_;
  std::vector<SchedulerRequest> requests_;
  bool held_ = false;
};

}  // namespace tune
