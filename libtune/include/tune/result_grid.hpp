#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <iterator>
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

class ResultSource;

/// One trial of a ResultGrid.
struct TrialResult {
  TrialId id;
  std::string name;
  TrialState state = TrialState::pending;
  Config config;                         ///< In force at the end; an exploit changes it.
  Config first_config;                   ///< With which the trial began.
  Metrics metrics;                       ///< Of the last result.
  std::int64_t training_iteration = 0;   ///< Of the last result; 0 if there is none.
  double time_total_s = 0;               ///< Of the last result.
  std::optional<Checkpoint> checkpoint;  ///< The newest.
  std::vector<Checkpoint> checkpoints;   ///< All that are kept, oldest first.
  std::filesystem::path path;
  std::string reason;  ///< Why it ended.
  std::string error;

  /// All results in order, read now. @throws std::runtime_error naming the file that cannot be
  /// read.
  [[nodiscard]] std::vector<Result> history() const;
  /// The kept checkpoint at whose iteration `metric` was best; empty if there is none.
  [[nodiscard]] std::optional<Checkpoint> best_checkpoint(std::string_view metric, Mode mode) const;
  /// The value of `metric` in `scope`; empty if no result has it as a number.
  [[nodiscard]] std::optional<double> value(std::string_view metric, Mode mode, Scope scope) const;

  std::shared_ptr<const ResultSource> source = {};  ///< Where history() reads.
};

/// Where a ResultGrid reads its trials, so that none of them need be in memory: the journal of the
/// experiment. Each call reads what stands there now. Safe from several threads.
class ResultSource {
 public:
  virtual ~ResultSource();
  /// In ascending order.
  [[nodiscard]] virtual std::vector<TrialId> ids() const = 0;
  /// With `source` set. @throws std::out_of_range if there is none of that id.
  [[nodiscard]] virtual TrialResult trial(TrialId id) const = 0;
  /// All of them in the order of their ids, one in memory at a time.
  virtual void for_each(const std::function<void(const TrialResult&)>& take) const = 0;
  [[nodiscard]] virtual std::vector<Result> history(TrialId id) const = 0;
};

/// What came out of an experiment: its trials in the order of their ids. They are read when they
/// are looked at, so a grid costs little however many there are.
class ResultGrid {
 public:
  /// Reads one trial after the other.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = TrialResult;
    using difference_type = std::ptrdiff_t;
    using pointer = const TrialResult*;
    using reference = TrialResult;

    Iterator(const ResultGrid* grid, std::size_t index) : grid_(grid), index_(index) {}
    TrialResult operator*() const { return (*grid_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++index_;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const ResultGrid* grid_;
    std::size_t index_;
  };

  ResultGrid() = default;
  ResultGrid(ExperimentInfo info, ExperimentEnd end, std::shared_ptr<const ResultSource> source);
  /// Reads the directory of an experiment, running or ended.
  /// @throws std::runtime_error naming the path and what is missing or damaged.
  [[nodiscard]] static ResultGrid open(const std::filesystem::path& path);

  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  [[nodiscard]] bool empty() const { return ids_.empty(); }
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size()}; }
  /// @throws std::out_of_range naming the index and the size.
  [[nodiscard]] TrialResult operator[](std::size_t index) const;
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
  [[nodiscard]] TrialResult best(Scope scope = Scope::last) const;
  [[nodiscard]] TrialResult best(std::string_view metric, Mode mode,
                                 Scope scope = Scope::last) const;
  /// Trials in state `error`.
  [[nodiscard]] std::vector<TrialResult> errors() const;

  /// A row a trial: id, name, state, iterations, time, `config/...`, last metrics. RFC 4180.
  void write_csv(std::ostream& out) const;
  /// The same as one JSON document, configurations nested.
  [[nodiscard]] Json json() const;

 private:
  void for_each(const std::function<void(const TrialResult&)>& take) const;
  [[nodiscard]] std::string no_best_text(std::string_view metric) const;

  ExperimentInfo info_;
  ExperimentEnd end_;
  std::shared_ptr<const ResultSource> source_;  // with the TrialResults
  std::vector<TrialId> ids_;
};

}  // namespace tune
