#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tune/config.hpp>
#include <tune/resources.hpp>
#include <tune/scheduler.hpp>
#include <tune/trial.hpp>

#include "core/exploit.hpp"
#include "engine/commands.hpp"
#include "engine/events.hpp"
#include "engine/placement.hpp"
#include "engine/saved_values.hpp"

namespace tune::engine {

/// Puts the messages of one incarnation in order and drops those that came before. Most come in
/// order, and need no place here.
class Inbox {
 public:
  /// False if this sequence number was there already.
  [[nodiscard]] bool accepts(std::uint64_t sequence) const {
    return sequence >= next_ && !waiting_.contains(sequence);
  }
  [[nodiscard]] bool is_next(std::uint64_t sequence) const { return sequence == next_; }
  /// One that comes too early. @pre accepts() it
  void keep(std::uint64_t sequence, TrialReport report) {
    waiting_.emplace(sequence, std::move(report));
  }
  /// The next one is dealt with.
  void advance() { ++next_; }
  [[nodiscard]] std::uint64_t next() const { return next_; }
  /// The next one, if it came too early.
  [[nodiscard]] std::optional<TrialReport> take() {
    const auto first = waiting_.begin();
    if (first == waiting_.end() || first->first != next_) return std::nullopt;
    std::optional<TrialReport> report = std::move(first->second);
    waiting_.erase(first);
    return report;
  }

 private:
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, TrialReport> waiting_;
};

struct StoredCheckpoint {
  std::string directory_name;
  std::int64_t training_iteration = 0;
  double time_total_s = 0;
  Config config;  // in force when it was saved: going back behind an exploit restores it
  core::SharedManifest files;
  double score = 0;             // for CheckpointOptions::keep_best
  core::SharedExploit exploit;  // the newest behind its weights
};

/// A clone that was decided and has not been stored as the target's own yet.
struct PendingExploit {
  TrialId source_id;
  StoredCheckpoint source;
  std::string source_name;  // of the donor
  Config old_config;
  Config config;

  [[nodiscard]] CheckpointLocation location() const { return {source_name, source.directory_name}; }
};

using SharedRequest = std::shared_ptr<const ResourceRequest>;

/// One start of a trial, from its Launch to its end.
struct Run {
  std::uint32_t incarnation = 0;
  Placement::Grant grant;
  Inbox inbox;
  Horizon horizon;                           // the last one sent
  std::int64_t training_iteration = 0;       // of its newest result, or where it started
  std::optional<CheckpointLocation> source;  // what it loads
  TrialId source_trial;                      // whose that is
  std::optional<PendingExploit> adopting;    // the donor's is pinned until stored as its own
  core::SharedExploit exploit;               // the newest behind its weights
  std::string lost_workers;  // why it has to start anew, if some of its workers are gone
  bool stop_sent = false;
  bool pause_sent = false;
  /// Its driver died, and its node may come back with it: nothing can be said to it, and its grant
  /// is on no node.
  bool is_adrift = false;
};

/// What the engine knows of a live trial beside what schedulers see: what is (`run`), and what was
/// decided (`want`) and takes effect when the trial gets there.
struct TrialRecord {
  enum class Want {
    run,
    pause,
    stop,     // for good
    restart,  // end this start, then run again: an exploit, other resources
  };

  Trial* trial = nullptr;  // in the SchedulerContext
  Config first_config;
  std::optional<Run> run;
  Want want = Want::run;
  std::string stop_reason;
  bool stopped_by_scheduler = false;
  std::optional<double> searcher_target;  // the newest value of its metric that `last` lacks
  std::string fatal_error;                // with Want::stop: it ends as error with this text
  std::optional<PendingExploit> exploit;
  core::SharedExploit recorded_exploit;  // the newest that is on record
  std::optional<Resources> resources;    // instead of the experiment's
  SharedRequest awaited;                 // for which no node is big enough; else null
  Time awaited_since{0};
  std::vector<StoredCheckpoint> checkpoints;  // oldest first
  SavedValues saves;
  // The largest iteration of all that there ever were; of any, once a node was lost with it.
  std::int64_t stored_until = -1;
  std::string damage;              // what is wrong with the latest that was found damaged
  Result last;                     // newest result of the current line
  std::int64_t decided_until = 0;  // up to here results were told and decided
  bool has_reported = false;
  std::int64_t node_losses = 0;    // since its last new result
  std::int64_t session = 0;        // of its last start
  std::optional<double> progress;  // the largest time_attr so far
  bool warned_progress = false;
  bool warned_nan_progress = false;
  std::optional<double> no_decision_before;
  /// It was to pause there, the checkpoint did not get on record, and it trains up to there again.
  std::optional<std::int64_t> pause_at;
  bool is_infeasible = false;    // it refused its configuration
  bool is_interrupted = false;   // left unfinished by an interrupt
  bool is_out_of_time = false;   // interrupted since the time budget was used up
  bool is_beyond_bound = false;  // told to stop by a criterion that would not stop it today

  [[nodiscard]] TrialId id() const { return trial->id(); }
  /// By the time budget, for all but scheduler and searcher.
  [[nodiscard]] bool has_been_ended() const { return is_interrupted && is_out_of_time; }
};

/// A trial that ended, kept whole in a replay since it may go on.
struct EndedTrial {
  TrialRecord record;  // its `trial` is null
  Trial trial;
};

inline constexpr std::uint64_t time_budget_timer = 0;
/// The timer that ends the pause before a trial's retry.
[[nodiscard]] std::uint64_t retry_timer(TrialId id);
/// The timer that ends a trial's waiting for a node that is big enough.
[[nodiscard]] std::uint64_t node_timer(TrialId id);
/// The one that ends the waiting of the whole experiment for such a node.
inline constexpr std::uint64_t infeasible_timer = std::numeric_limits<std::uint64_t>::max();
/// The one that ends EngineOptions::driver_grace.
inline constexpr std::uint64_t driver_grace_timer = infeasible_timer - 1;

}  // namespace tune::engine
