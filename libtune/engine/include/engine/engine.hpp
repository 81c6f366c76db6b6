#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tune/checkpoint.hpp>
#include <tune/objective.hpp>
#include <tune/resources.hpp>
#include <tune/scheduler.hpp>
#include <tune/stop.hpp>

#include "engine/commands.hpp"
#include "engine/decisions.hpp"
#include "engine/events.hpp"

namespace tune::engine {

/// The definition of an experiment as far as the engine needs it.
struct EngineOptions {
  std::optional<Objective> objective;           ///< The experiment's.
  std::optional<Objective> searcher_objective;  ///< The searcher's own; default: the experiment's.
  bool searcher_wants_results = false;
  bool strict_metric = true;  ///< Without an objective it is off.
  /// Trials in all; empty: until the searcher is exhausted or something else ends it.
  std::optional<std::uint64_t> max_trials;
  /// So many InvalidConfig trials end the experiment, and so many that were refused their
  /// resources; 0: no bound.
  std::uint64_t max_infeasible = 0;
  std::int64_t max_concurrent = 0;  ///< 0: resources alone bound it.
  Resources resources;
  StopCriteria stop;
  CheckpointOptions checkpoint;
  bool trainable_checkpoints = false;  ///< The trainable can save and load.
  std::int64_t max_failures = 0;       ///< Retries of a trial; -1: no bound.
  /// Nodes lost with a trial in a row, without a new result of it in between; -1: no bound.
  std::int64_t max_node_failures = -1;
  Time retry_pause{0};                        ///< Before the first retry; doubles each time.
  Time max_retry_pause{60};                   ///< However often it doubles.
  std::int64_t max_experiment_failures = -1;  ///< One more error interrupts; -1: no bound.
  bool fail_fast = false;                     ///< The first error interrupts.
  std::uint64_t seed = 0;
  std::optional<Time> time_budget;
  bool fixed_cluster = true;  ///< No node will join later: what fits none is refused.
  /// How long a trial waits for nodes that are big enough, where they may join; then it fails.
  Time infeasible_timeout{600};
  /// In another session: how long what ran on remote nodes waits for them to come back with it,
  /// before it goes back to its last checkpoint. Not on a fixed cluster.
  Time driver_grace{0};

  /// Whether nodes may come back with what ran there in the session before.
  [[nodiscard]] bool awaits_remote_nodes() const {
    return driver_grace > Time(0) && !fixed_cluster;
  }
};

/// Which ended trials a replay keeps whole, since they may go on in a later session.
struct KeepEnded {
  std::set<TrialId> named = {};  ///< Those that a later event of the replay names.
  bool out_of_time = false;      ///< Shown as ended since the time budget was used up.
  bool beyond_bound = false;     ///< Ended by a stop criterion that would not end them today.
  bool failed = false;
};
/// Trials of a replay that have ended, or are on their way to the end, and could go on.
struct Reopenable {
  std::vector<TrialId> out_of_time;
  std::vector<TrialId> beyond_bound;
  std::vector<TrialId> failed;
};

/// The trial engine: events in, commands out. No thread, no clock, no file.
///
/// The same events in the same order give the same commands. The caller's duties:
/// 1. One call at a time; commands are carried out in their order.
/// 2. The first event is a SessionStarted or a NodeJoined; `now` never decreases.
/// 3. AskSearcher is answered by exactly one SuggestionReady with its trial; asks and tells reach
///    the searcher in the order of the commands.
/// 4. Each Launch is answered by TrialMessages numbered from 0, the last of them Ended, unless its
///    node leaves. They may come late, twice and out of order.
/// 5. A trial waits after a result that reached its horizon until Proceed, Pause or Stop; it need
///    not where that ends it: see Horizon::is_end().
/// 6. Pause, Stop and Save may come at any time after Launch, also when the trial has just ended.
/// 7. After Finish nothing more is sent; timers may still fire.
class Engine {
 public:
  /// @throws std::invalid_argument for options that cannot work with this scheduler.
  Engine(EngineOptions options, std::unique_ptr<TrialScheduler> scheduler);
  ~Engine();

  /// Handles one event at engine time `now` and appends what is to be done to `commands`.
  void handle(Event event, Time now, std::vector<Command>& commands);
  /// What code outside decided while the last event was handled, for a replay(). After a replay()
  /// that asked the scheduler: what that says today to each question, also where it says nothing.
  [[nodiscard]] Decisions take_decisions();

  /// Handles an event of the past as it was handled then, with what was decided then: scheduler,
  /// stop criteria and functions of resources do not decide again. If `asks_scheduler`, the
  /// scheduler is told and asked all the same, to bring its state to where it was; else that is
  /// left to restore_scheduler(). Before the first one comes begin_replay().
  /// @throws std::runtime_error if decisions and events do not fit.
  void replay(const Event& event, Time now, const Decisions& decisions, bool asks_scheduler,
              std::vector<Command>& commands);
  void begin_replay(KeepEnded keep);
  /// @throws whatever the scheduler throws.
  void restore_scheduler(const Json& state);
  /// The first decision of a replay for which today's scheduler would have decided otherwise;
  /// empty if there is none.
  [[nodiscard]] std::string replay_difference() const;
  /// Valid until the next SessionStarted is handled.
  [[nodiscard]] Reopenable reopenable() const;

  [[nodiscard]] bool is_finished() const;

  /// Counts for displays and tests.
  struct Counts : TrialCounts {
    std::uint64_t asked = 0;             ///< Suggestions asked for and not yet answered.
    std::uint64_t refused_messages = 0;  ///< Of an older incarnation, or duplicates.
    std::uint64_t infeasible = 0;
    friend bool operator==(const Counts&, const Counts&) = default;
  };
  [[nodiscard]] Counts counts() const;
  /// Free resources of a node; for tests. Empty if the node is not there.
  [[nodiscard]] std::optional<ResourceAmounts> free_resources(NodeId node) const;
  /// Why nothing runs though trials wait; empty if something runs or nothing waits.
  [[nodiscard]] std::string waiting_reason() const;
  [[nodiscard]] const SchedulerContext& context() const;
  [[nodiscard]] const TrialScheduler& scheduler() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace tune::engine
