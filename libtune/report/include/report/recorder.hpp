#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tune/callback.hpp>
#include <tune/config.hpp>
#include <tune/ids.hpp>
#include <tune/result.hpp>
#include <tune/result_grid.hpp>
#include <tune/trial.hpp>

#include "report/file_pool.hpp"

namespace tune::report {

/// What the recorder keeps of the results themselves.
enum class KeepHistory {
  no,   ///< The "json" exporter writes them.
  yes,  ///< Nobody writes them: keep them in memory for the ResultGrid.
};

/// Writes what ResultGrid::open() reads, whatever exporters there are:
///
/// - experiment.json: the definition and, at the end, how the experiment ended;
/// - trials.jsonl: a line for each trial added, start, change of state, checkpoint stored or
///   deleted, and explanation;
/// - <trial>/error.txt: each failed start with its incarnation, iteration and text.
///
/// A trial that ended costs no memory here: its last result stands in trials.jsonl. Calls that
/// write throw std::system_error naming the path; what they could not write waits in memory, and
/// results() has it.
class ExperimentRecorder {
 public:
  /// @pre `pool` lives as long; the experiment's directory exists when something is written.
  ExperimentRecorder(FilePool& pool, ExperimentInfo info, KeepHistory keep);

  void experiment_started();
  void trial_added(TrialId id, const std::string& name, const Config& config);
  void trial_started(const TrialInfo& trial);
  void result(TrialId id, const Result& result);
  void checkpoint_stored(TrialId id, const std::string& directory_name,
                         std::int64_t training_iteration);
  void checkpoint_deleted(TrialId id, const std::string& directory_name);
  /// A final state ends the records of the trial, but for its checkpoints.
  void trial_state(TrialId id, std::uint32_t incarnation, TrialState state,
                   const std::string& reason, const std::string& error);
  /// Appends to the trial's error.txt, in its directory.
  void failed_start(TrialId id, std::uint32_t incarnation, const std::string& error) const;
  void explanation(TrialId id, std::string_view text);
  /// Records the last results of trials that did not end, and the end.
  void experiment_ended(const ExperimentEnd& end);

  /// All trials as they are now.
  [[nodiscard]] ResultGrid results();

 private:
  struct LiveTrial {
    std::string name;
    Config config;
    TrialState state = TrialState::pending;
    std::uint32_t incarnation = 0;
    std::optional<Result> last_result;
    std::string reason;
    std::string error;
    bool is_recorded = true;  // last_result stands in trials.jsonl
  };

  LiveTrial* live(TrialId id);
  void write_definition() const;
  void keep_result(TrialId id, const Result& result);
  void record_unfinished();
  static std::string state_line(TrialId id, LiveTrial& trial);

  ExperimentInfo info_;
  std::optional<ExperimentEnd> end_;
  KeepHistory keep_;
  std::unique_ptr<AppendFile> trials_;
  std::map<TrialId, LiveTrial> live_;
  std::map<TrialId, std::shared_ptr<std::vector<Result>>> histories_;  // if KeepHistory::yes
};

}  // namespace tune::report
