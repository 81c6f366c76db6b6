#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tune/callback.hpp>
#include <tune/checkpoint.hpp>
#include <tune/config.hpp>
#include <tune/ids.hpp>
#include <tune/mode.hpp>
#include <tune/result.hpp>
#include <tune/trial.hpp>

namespace tune {

/// Which value of a trial's history counts when trials are compared. Values that are not finite are
/// the worst in `last` and `all` and are left out of the averages.
enum class Scope { last, all, avg, last_5_avg, last_10_avg };

/// "last", "all", "avg", "last-5-avg" or "last-10-avg".
[[nodiscard]] std::string_view to_string(Scope scope);

/// One trial of a ResultGrid.
struct TrialResult {
  TrialId id;
  std::string name;
  TrialState state = TrialState::pending;
  Config config;
  Metrics metrics;                       ///< Of the last result.
  std::int64_t training_iteration = 0;   ///< Of the last result; 0 if there is none.
  double time_total_s = 0;               ///< Of the last result.
  std::optional<Checkpoint> checkpoint;  ///< The newest.
  std::vector<Checkpoint> checkpoints;   ///< All that are kept, oldest first.
  std::filesystem::path path;
  std::string reason;  ///< Why it ended.
  std::string error;

  /// All results in order, read from its files (or kept, where no "json" exporter wrote them).
  /// @throws std::runtime_error naming the file and line that cannot be read.
  [[nodiscard]] std::vector<Result> history() const;
  /// The kept checkpoint at whose iteration `metric` was best; empty if there is none.
  [[nodiscard]] std::optional<Checkpoint> best_checkpoint(std::string_view metric, Mode mode) const;
  /// The value of `metric` in `scope`; empty if no result has it as a number.
  [[nodiscard]] std::optional<double> value(std::string_view metric, Mode mode, Scope scope) const;

  std::shared_ptr<const std::vector<Result>> kept_history = {};  ///< Set where no file has it.
};

/// What came out of an experiment: its trials in the order of their ids.
class ResultGrid {
 public:
  ResultGrid() = default;
  ResultGrid(ExperimentInfo info, ExperimentEnd end, std::vector<TrialResult> trials);
  /// Reads the directory of an experiment, running or ended.
  /// @throws std::runtime_error naming the path and what is missing or damaged.
  [[nodiscard]] static ResultGrid open(const std::filesystem::path& path);

  [[nodiscard]] std::size_t size() const { return trials_.size(); }
  [[nodiscard]] bool empty() const { return trials_.empty(); }
  [[nodiscard]] auto begin() const { return trials_.begin(); }
  [[nodiscard]] auto end() const { return trials_.end(); }
  [[nodiscard]] const TrialResult& operator[](std::size_t index) const { return trials_.at(index); }
  [[nodiscard]] const std::filesystem::path& path() const { return info_.path; }
  [[nodiscard]] const ExperimentInfo& experiment() const { return info_; }
  [[nodiscard]] const ExperimentEnd& experiment_end() const { return end_; }
  /// True if the experiment ended before its time and left unfinished what ran: by fail_fast, say.
  /// experiment_end().reason says why. False of one that runs, or was killed.
  [[nodiscard]] bool interrupted() const { return end_.interrupted; }

  /// The best trial by the experiment's metric and mode, or by those given. Ties go to the lowest
  /// id; a trial whose values are all not finite is never the best.
  /// @throws std::runtime_error if there is no metric, or no trial with a finite value of it: the
  /// text has the number of failed trials and the first error.
  [[nodiscard]] const TrialResult& best(Scope scope = Scope::last) const;
  [[nodiscard]] const TrialResult& best(std::string_view metric, Mode mode,
                                        Scope scope = Scope::last) const;
  /// Trials in state `error`.
  [[nodiscard]] std::vector<std::reference_wrapper<const TrialResult>> errors() const;

  /// A row a trial: id, name, state, iterations, time, `config/...`, last metrics. RFC 4180.
  void write_csv(std::ostream& out) const;
  /// The same as one JSON document, configurations nested.
  [[nodiscard]] Json json() const;

 private:
  ExperimentInfo info_;
  ExperimentEnd end_;
  std::vector<TrialResult> trials_;
};

}  // namespace tune
