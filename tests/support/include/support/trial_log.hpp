#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tune/config.hpp>
#include <tune/ids.hpp>
#include <tune/mode.hpp>
#include <tune/resources.hpp>
#include <tune/result.hpp>
#include <tune/trial.hpp>

#include "core/exploit.hpp"
#include "engine/commands.hpp"
#include "engine/events.hpp"

namespace tune::test {

/// What was launched, and what the engine may know of it from the messages that reached it.
struct RunningStart {
  engine::Launch launch;
  std::string weights;                ///< With which it must start; see CheckpointLog.
  double score = worst_value();       ///< Of the checkpoint with which it must start.
  engine::Horizon horizon;            ///< The newest one that was sent.
  std::optional<Result> last_result;  ///< The newest that arrived in order.
  bool needs_checkpoint = false;      ///< Its checkpoint is not loaded (or adopted) yet.
  bool pause_ordered = false;         ///< Pause was sent.
  bool stop_ordered = false;          ///< Stop was sent.
  bool has_recorded_result = false;
  std::uint64_t next_sequence = 0;
  std::map<std::uint64_t, engine::TrialReport> early;  ///< Arrived before those in front of them.

  [[nodiscard]] bool is_end_ordered() const { return pause_ordered || stop_ordered; }
  /// True if the training code stands still until a command comes.
  [[nodiscard]] bool is_waiting() const {
    return last_result && !last_result->done && horizon.is_reached(*last_result);
  }
};

/// Names the weights that an incarnation has after an iteration of its own.
[[nodiscard]] inline std::string weights_after(TrialId trial, std::uint32_t incarnation,
                                               std::int64_t iteration) {
  return "trial " + std::to_string(trial.value()) + " start " + std::to_string(incarnation) +
         " iteration " + std::to_string(iteration);
}

/// A recorded checkpoint that was not deleted.
struct CheckpointLog {
  std::int64_t training_iteration = 0;
  std::string directory_name;
  std::string weights;  ///< weights_after() the training that it holds; empty: of none.
  double time_total_s = 0;
  Config config;                 ///< In force when it was stored.
  double score = worst_value();  ///< By which the best are kept.
};

/// All that the commands said of one trial.
struct TrialLog {
  std::string name;
  Config first_config;
  TrialState state = TrialState::pending;
  std::string reason;
  std::string error;
  std::vector<engine::Launch> launches;
  std::optional<RunningStart> running;
  std::optional<engine::TrialStart> start_record;  ///< Comes with the launch, before or after it.
  std::vector<Result> line;            ///< The current line: iterations 1, 2, ... as superseded.
  std::vector<std::int64_t> recorded;  ///< Every iteration ever recorded, in order.
  std::vector<std::int64_t> checkpoint_records;  ///< Every iteration of a RecordCheckpoint.
  std::vector<CheckpointLog> checkpoints;        ///< In the order of their records, the sound ones.
  std::set<std::string> used_names;              ///< Of all checkpoints that it ever had.
  std::set<std::string> damaged;                 ///< Those that were found damaged.
  std::set<std::string> damage_records;          ///< Those that were recorded as damaged.
  std::vector<std::string> explanations;
  std::vector<core::Exploit> exploits;  ///< Those that count.
  std::vector<std::string> warnings;
  std::int64_t failures = 0;    ///< Starts that failed.
  bool stop_decided = false;    ///< By the scheduler, a criterion or the trial itself.
  bool change_decided = false;  ///< An exploit or other resources, not yet in force.
  bool was_invalid = false;
  bool lacked_metric = false;         ///< Its first result under strict_metric; or it was text.
  bool ends_itself = false;           ///< Its newest result says that it is the last.
  std::vector<double> told_progress;  ///< The time_attr of each result told to the scheduler.
  std::int64_t searcher_told = 0;     ///< The newest iteration of a TellSearcherResult.
  bool is_told = false;               ///< The searcher knows its end.
  bool is_lost = false;               ///< Its thread was abandoned.
  bool was_interrupted = false;       ///< Its last start ended so that it must stay unfinished.
  bool is_out_of_time = false;        ///< Ended by the time budget, for the records only.
  std::optional<double> retry_at_s;   ///< No start before that.

  /// It had checkpoints, and all that were left are damaged.
  [[nodiscard]] bool has_lost_all() const { return checkpoints.empty() && !damaged.empty(); }
  [[nodiscard]] bool has_ended() const {
    return state == TrialState::terminated || state == TrialState::error;
  }
};

}  // namespace tune::test
