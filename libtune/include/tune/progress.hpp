#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tune/callback.hpp>
#include <tune/config.hpp>
#include <tune/ids.hpp>
#include <tune/metrics.hpp>
#include <tune/objective.hpp>
#include <tune/resources.hpp>
#include <tune/trial.hpp>

namespace tune {

/// A trial as a display shows it, with its last result.
struct TrialProgress {
  TrialId id;
  std::string name;  ///< Also its directory's name.
  Config config;
  std::int64_t training_iteration = 0;  ///< 0 if it has no result yet.
  double time_total_s = 0;
  Metrics metrics;
  std::optional<double> value;  ///< The newest of the experiment's metric; empty if it has none.
};

/// A trial that failed for good.
struct TrialFailure {
  TrialId id;
  std::string name;
  std::string error;           ///< The first line of its text, shortened.
  std::filesystem::path path;  ///< Of the file with all of it.
};

/// A node that is there, and what of it is in use.
struct NodeProgress {
  NodeId id;
  std::string name;  ///< Its host's.
  std::int64_t pid = 0;
  bool is_local = true;  ///< The driver's own machine, in the driver's process.
  ResourceAmounts resources;
  ResourceAmounts resources_in_use;
};

/// How an experiment stands at one moment. Small, however many trials there are.
struct Progress {
  using Seconds = std::chrono::duration<double>;

  std::string name;            ///< The experiment's.
  std::filesystem::path path;  ///< Its directory, where the results are.
  std::optional<Objective> objective;

  TrialCounts counts;
  std::optional<std::int64_t> expected_trials;  ///< In all, if an end is known.
  std::optional<std::int64_t> max_iterations;   ///< At which a trial ends at the latest, if known.
  std::int64_t results = 0;                     ///< So far, repeated ones too.
  std::optional<double> fraction;               ///< Of the work that is done, 0 to 1, if known.
  Seconds elapsed{0};
  std::optional<Seconds> remaining;  ///< Expected; empty if there is no ground for a guess.

  /// The trial whose last value is best, as ResultGrid::best() has it at the end.
  std::optional<TrialProgress> best;
  std::vector<TrialProgress> rows;     ///< Running trials by id; not all if they are many.
  std::vector<TrialFailure> failures;  ///< The last few, oldest first.
  std::int64_t failed_starts = 0;      ///< All of them, those that were tried again too.
  /// Why trials ended well, and how many did so: "stopped by asha", 12. The most frequent first.
  std::vector<std::pair<std::string, std::int64_t>> reasons;

  ResourceAmounts resources_in_use;
  ResourceAmounts resources;         ///< Of all nodes that are there.
  std::vector<NodeProgress> nodes;   ///< Those that are there and take part, by their id.
  std::string scheduler;             ///< What TrialScheduler::describe() says.
  std::string waiting;               ///< Why nothing runs though trials wait; empty if all is well.
  std::optional<ExperimentEnd> end;  ///< Set in the last report.
};

/// Shows how an experiment goes. One in Experiment::callbacks takes the place of the display that
/// tune has of its own.
///
/// As for every callback, calls come from one thread, never from the driver's, and one that throws
/// is switched off. A slow one delays trials once its queue is full.
class ProgressReporter : public Callback {
 public:
  /// Called when the experiment starts, then once an interval(), whether something has happened or
  /// not, and at the end, behind on_experiment_end(), with `is_last`.
  virtual void report(const Progress& progress, bool is_last) = 0;
  /// Time between two reports; asked again after each. At least 50 ms are kept. Default: 1 s.
  [[nodiscard]] virtual std::chrono::duration<double> interval() const;
};

}  // namespace tune
