#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <tune/callback.hpp>
#include <tune/config.hpp>
#include <tune/ids.hpp>
#include <tune/resources.hpp>
#include <tune/result.hpp>
#include <tune/scheduler_context.hpp>
#include <tune/trial.hpp>

#include "core/checkpoint_manifest.hpp"
#include "core/exploit.hpp"
#include "engine/horizon.hpp"
#include "engine/saved_values.hpp"

namespace tune::engine {

// To the searcher, which answers in the order of asking.

struct AskSearcher {
  TrialId trial;
};
struct TellSearcherResult {
  TrialId trial;
  Config config;
  Result result;  ///< Its target is the searcher's.
};
struct TellSearcherCompleted {
  TrialId trial;
  Config config;
  Result last;  ///< training_iteration 0 if the trial had no result.
};
struct TellSearcherFailed {
  TrialId trial;
  Config config;
  bool infeasible = false;
};

// To the node that runs a trial.

/// A checkpoint on disk: the directory of `trial_name`, and within it `directory_name`.
struct CheckpointLocation {
  std::string trial_name;
  std::string directory_name;
  friend bool operator==(const CheckpointLocation&, const CheckpointLocation&) = default;
};
struct Launch {
  TrialId trial;
  std::uint32_t incarnation = 0;
  NodeId node;
  std::string trial_name;
  Config config;
  ResourceGrant grant;                    ///< Of the trial itself, on `node`.
  std::vector<WorkerGrant> workers = {};  ///< Of its parallel workers, by rank.
  std::uint64_t seed = 0;
  std::optional<CheckpointLocation> checkpoint;
  core::SharedManifest checkpoint_files = {};  ///< What must be found there; null: not known.
  /// The checkpoint is another trial's: first make it one of this trial's own under this directory
  /// name, and report it as stored.
  std::optional<std::string> adopt_as;
  std::int64_t start_iteration = 0;
  double start_time_total_s = 0;
  /// The largest iteration of which the trial has ever stored a checkpoint: see
  /// own_checkpoint_name().
  std::int64_t stored_until = -1;
  /// All there are; those beyond `start_iteration` make way for the first result.
  std::vector<SavedValue> saves = {};
  Horizon horizon;
};
/// A new horizon; a trial whose last result does not reach it goes on. May come at any time.
struct Proceed {
  TrialId trial;
  std::uint32_t incarnation = 0;
  NodeId node;
  Horizon horizon;
};
struct Save {
  TrialId trial;
  std::uint32_t incarnation = 0;
  NodeId node;
};
/// Save at the next step boundary, then end as `paused`.
struct Pause {
  TrialId trial;
  std::uint32_t incarnation = 0;
  NodeId node;
};
/// End at the next step boundary as `stopped`. `save`: store a checkpoint first, if that is
/// possible there.
struct Stop {
  TrialId trial;
  std::uint32_t incarnation = 0;
  NodeId node;
  bool save = false;
};
/// The answer to a HeldRun that is welcome: that start goes on, and its messages are expected from
/// sequence number `next` on.
struct Adopt {
  TrialId trial;
  std::uint32_t incarnation = 0;
  NodeId node;
  std::uint64_t next = 0;
};
/// Nothing needs this checkpoint, or what was written beside a saved value, any more.
struct DeleteCheckpoint {
  CheckpointLocation checkpoint;
};

/// Fire TimerFired{timer} at engine time `at`.
struct SetTimer {
  std::uint64_t timer = 0;
  Time at{0};
};

// For the records: everything a callback or a journal wants to know, in order.

/// What all records of one start of a trial share.
struct TrialStart {
  TrialId trial;
  std::string name;
  Config config;
  std::uint32_t incarnation = 0;
  std::int64_t start_iteration = 0;
  NodeId node;
};
struct RecordTrialAdded {
  TrialId trial;
  std::string name;
  Config config;
};
struct RecordTrialStarted {
  TrialStart start;
};
/// A start that is on record already goes on in this session, from `start_iteration`.
struct RecordTrialAdopted {
  TrialStart start;
};
struct RecordResult {
  TrialId trial;
  std::uint32_t incarnation = 0;
  Result result;
};
struct RecordCheckpoint {
  TrialId trial;
  std::uint32_t incarnation = 0;
  std::string directory_name;
  std::int64_t training_iteration = 0;
  core::SharedManifest files = {};  ///< Null: not known.
  std::uint64_t file_count = 0;
  std::uint64_t size_bytes = 0;  ///< Of all files together.
};
/// A checkpoint was found damaged. Nothing will be started from it, and it is not deleted, so that
/// somebody may look at it. The trial may have ended before.
struct RecordCheckpointDamaged {
  TrialId trial;
  std::string directory_name;
};
/// A trial changed its state; `reason` says why, `error` is the text of a failure. A failed start
/// that will be retried has state `pending` and an error.
struct RecordTrialState {
  TrialId trial;
  std::uint32_t incarnation = 0;
  TrialState state = TrialState::pending;
  std::string reason;
  std::string error;
};
/// A value was saved; one of the same name and index makes way.
struct RecordSaved {
  TrialId trial;
  std::uint32_t incarnation = 0;
  SavedValue saved;
};
/// A saved value is no more.
struct RecordSavedDropped {
  TrialId trial;
  std::string name;
  std::int64_t index = 0;
};
/// The trial starts anew: what it did before counts no more.
struct RecordRestarted {
  TrialId trial;
};
/// An exploit took place: the clone has its first result, whose record comes next. Those of the
/// trial with this number or a higher one count no more.
struct RecordExploit {
  core::SharedExploit exploit;
};
/// The trial went back behind exploits and has its first result since: those with a number above
/// `kept` count no more.
struct RecordExploitsDropped {
  TrialId trial;
  std::uint64_t kept = 0;
};
struct RecordExplanation {
  TrialId trial;
  std::string reason;
};
struct RecordWarning {
  std::optional<TrialId> trial;
  std::string text;
};
/// All is over; the last command.
struct Finish {
  ExperimentEnd end;
};

using Command =
    std::variant<AskSearcher, TellSearcherResult, TellSearcherCompleted, TellSearcherFailed, Launch,
                 Proceed, Save, Pause, Stop, Adopt, DeleteCheckpoint, SetTimer, RecordTrialAdded,
                 RecordTrialStarted, RecordTrialAdopted, RecordResult, RecordCheckpoint,
                 RecordCheckpointDamaged, RecordTrialState, RecordSaved, RecordSavedDropped,
                 RecordRestarted, RecordExploit, RecordExploitsDropped, RecordExplanation,
                 RecordWarning, Finish>;

/// "checkpoint_000007" for iteration 7.
[[nodiscard]] std::string checkpoint_directory_name(std::int64_t training_iteration);

/// The name under which a start stores its checkpoint of an iteration. It has the incarnation
/// behind it, "checkpoint_000007_3", where the trial may have had one of that iteration before:
/// where it took over another trial's, or went back behind a damaged one. So no name ever means
/// two checkpoints, one of which may still be about to be deleted. `went_back`: how often the
/// training code of this start did; then behind that "-" and the number.
[[nodiscard]] std::string own_checkpoint_name(const Launch& launch, std::int64_t training_iteration,
                                              std::int64_t went_back = 0);

}  // namespace tune::engine
