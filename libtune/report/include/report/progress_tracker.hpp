#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <tune/callback.hpp>
#include <tune/progress.hpp>
#include <tune/resources.hpp>
#include <tune/result.hpp>
#include <tune/trial.hpp>

#include "report/restored_trial.hpp"

namespace tune::report {

/// What the records of trials do not tell and the one who runs the experiment knows.
struct RunStatus {
  ResourceAmounts resources_in_use;
  ResourceAmounts resources;
  std::vector<NodeProgress> nodes = {};
  std::string scheduler;
  std::string waiting;
};

/// What is known of an experiment's size beforehand.
struct ExpectedWork {
  std::optional<std::int64_t> trials = {};
  std::optional<std::int64_t> max_iterations = {};  ///< Of each trial.
  std::optional<Progress::Seconds> time_budget = {};
};

/// Collects an experiment's records into a Progress. A trial that ended costs no memory.
///
/// Records come as CallbackHub gets them. No clock: time is what snapshot() is told, counted from
/// the start of the experiment.
class ProgressTracker {
 public:
  /// Bounds of what a Progress holds.
  static constexpr std::size_t max_rows = 64;
  static constexpr std::size_t max_failures = 8;
  static constexpr std::size_t max_reasons = 8;

  void expect(const ExpectedWork& work) { expected_ = work; }

  void experiment_started(const ExperimentInfo& experiment);
  /// A trial of a resumed experiment: counts as what it is now. The pace is that of the work done
  /// since.
  void trial_restored(const RestoredTrial& restored);
  /// Its results count no more.
  void trial_restarted(TrialId id);
  void trial_added(TrialId id, const std::string& name, const Config& config);
  void trial_started(const TrialInfo& trial);
  void result(TrialId id, const Result& result);
  void trial_state(TrialId id, TrialState state, const std::string& reason,
                   const std::string& error);
  void run_status(const RunStatus& status) { status_ = status; }
  void experiment_ended(const ExperimentEnd& end) { end_ = end; }

  /// How it stands at `now`, which never decreases. O(live trials).
  [[nodiscard]] Progress snapshot(Progress::Seconds now);

 private:
  struct Live {
    TrialProgress trial;
    TrialState state = TrialState::pending;
  };

  void set_state(Live& live, TrialState state);
  void note_failure(const TrialProgress& trial, const std::string& error);
  void offer_as_best(const TrialProgress& trial);
  [[nodiscard]] bool is_better_than(const TrialProgress& a, const TrialProgress& b) const;
  [[nodiscard]] std::optional<TrialProgress> best() const;
  /// How much of a trial is done that has not ended, 0 to 1.
  [[nodiscard]] double part_done(const TrialProgress& trial) const;
  void end_trial(const Live& live, const std::string& reason, const std::string& error);
  [[nodiscard]] double restored_fraction() const;
  [[nodiscard]] std::optional<double> fraction(Progress::Seconds now) const;
  [[nodiscard]] std::optional<Progress::Seconds> remaining(Progress::Seconds now);

  ExpectedWork expected_;
  std::string name_;
  std::filesystem::path path_;
  std::optional<Objective> objective_;
  TrialCounts counts_;
  std::int64_t results_ = 0;
  std::int64_t failed_starts_ = 0;
  double restored_trials_ = 0;  // that were done before this run, and parts of such
  std::map<TrialId, Live> live_;
  std::set<TrialId> running_;
  std::optional<TrialProgress> best_ended_;
  std::deque<TrialFailure> failures_;
  std::map<std::string, std::int64_t> reasons_;
  RunStatus status_;
  std::optional<ExperimentEnd> end_;
  // The last time at which more work was seen to be done: between two such times nothing is known
  // of the pace, and the expected end stays where it is.
  double last_work_ = 0;
  Progress::Seconds last_work_at_{0};
};

}  // namespace tune::report
