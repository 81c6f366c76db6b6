#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <tune/error.hpp>
#include <tune/ids.hpp>
#include <tune/resources.hpp>
#include <tune/result.hpp>
#include <tune/searcher.hpp>

#include "core/checkpoint_manifest.hpp"
#include "engine/saved_values.hpp"

namespace tune::engine {

struct EngineOptions;

/// The experiment begins, or goes on another time: all nodes are gone, what ran goes back to its
/// last checkpoint, what was interrupted may run again. What ran on remote nodes first waits for
/// EngineOptions::driver_grace that its node comes back with it.
struct SessionStarted {
  std::shared_ptr<const EngineOptions> options;  ///< From now on; shared with copies of the event.
  /// Trials that had ended, or were told to, and go on from where they were all the same.
  std::vector<TrialId> reopened = {};
  /// Trials that had failed, and start anew from nothing.
  std::vector<TrialId> restarted = {};
};
/// A start of a trial that a node has held on to since its last driver died: it runs there, or what
/// it told last is there.
struct HeldRun {
  TrialId trial;
  std::uint32_t incarnation = 0;
  std::uint64_t first = 0;  ///< Of its messages, the node has those from this number on.
};
/// A machine offers its resources.
struct NodeJoined {
  NodeId node;
  std::string name;
  ResourceAmounts capacity;
  Labels labels = {};
  bool is_remote = false;          ///< It does not die with the driver.
  std::vector<HeldRun> held = {};  ///< Each is answered by Adopt, or is of no use any more.
};
/// A machine is gone, and with it all that ran there.
struct NodeLeft {
  NodeId node;
};

/// The searcher threw.
struct SearcherFailure {
  std::string message;
};
/// The answer to AskSearcher.
struct SuggestionReady {
  TrialId trial;
  std::variant<Config, Wait, Exhausted, SearcherFailure> suggestion;
  std::string note = {};  // what the searcher has to say of a configuration; most often nothing
};

// What a running trial tells, in this order: started, then results and checkpoints, then ended.

struct Started {};
/// One training iteration. `done` is set if the training code said so; `ended` follows then.
struct Reported {
  Result result;
};
/// A checkpoint of all iterations up to `training_iteration` is in place.
struct CheckpointStored {
  std::string directory_name;  ///< Within the trial's directory.
  std::int64_t training_iteration = 0;
  double time_total_s = 0;
  core::SharedManifest files = {};
};
/// A save that was asked for failed; the trial goes on.
struct CheckpointFailed {
  std::int64_t training_iteration = 0;
  std::string message;
};
/// Something the user should hear about.
struct Warned {
  std::string text;
  bool is_of_reserved_names = false;  ///< Of metrics: once a trial is enough.
};
enum class EndKind {
  finished,   ///< The training code ended by itself.
  stopped,    ///< As told by Stop.
  paused,     ///< As told by Pause; its checkpoint was reported before.
  failed,     ///< An exception, or the process died.
  invalid,    ///< InvalidConfig: the configuration cannot work.
  abandoned,  ///< It did not end in time; its thread, and so its slot, is lost.
  damaged,    ///< The checkpoint to go on from is not as it was stored; nothing was run.
};
struct Ended {
  EndKind kind = EndKind::finished;
  std::string message;
};
/// A value was saved after the iterations reported so far; its files are in place.
struct Saved {
  SavedValue saved;
};
/// The training code itself goes back: the next result will be that of the iteration after this
/// one, and what came later makes way for it then.
struct WentBack {
  std::int64_t training_iteration = 0;
};
using TrialReport = std::variant<Started, Reported, CheckpointStored, CheckpointFailed, Warned,
                                 Ended, Saved, WentBack>;

/// What a trial tells, numbered from 0 within its incarnation, so that late, duplicate and
/// reordered messages do no harm.
struct TrialMessage {
  TrialId trial;
  std::uint32_t incarnation = 0;
  std::uint64_t sequence = 0;
  TrialReport report;
};

/// A timer set by SetTimer.
struct TimerFired {
  std::uint64_t timer = 0;
};
/// Somebody wants the experiment to end: running trials are stopped.
struct StopRequested {
  std::string reason;
  /// An interrupt: running trials are told to save and to end, and stay unfinished.
  bool interrupts = false;
};

using Event = std::variant<NodeJoined, NodeLeft, SuggestionReady, TrialMessage, TimerFired,
                           StopRequested, SessionStarted>;

}  // namespace tune::engine
