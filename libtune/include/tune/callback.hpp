#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <tune/checkpoint.hpp>
#include <tune/config.hpp>
#include <tune/ids.hpp>
#include <tune/json.hpp>
#include <tune/objective.hpp>
#include <tune/result.hpp>
#include <tune/trial.hpp>

namespace tune {

/// The experiment, as callbacks see it.
struct ExperimentInfo {
  std::string name;
  std::filesystem::path path;  ///< Its directory, absolute.
  std::string experiment_id;   ///< Random, in every record.
  std::optional<Objective> objective;
  std::uint64_t seed = 0;
  Json definition;  ///< What experiment.json holds.
  /// The `--tune-...` options that changed the definition, as they were given; often empty.
  std::string overrides = {};
  bool has_default_name = false;  ///< The name was made up, since the definition has none.
};

/// A trial at one start, as callbacks see it.
struct TrialInfo {
  TrialId id;
  std::string name;            ///< Also its directory's name.
  std::filesystem::path path;  ///< Its directory, absolute; made before the first callback.
  Config config;
  std::uint32_t incarnation = 0;
  std::int64_t start_iteration = 0;  ///< Iterations done before this start.
  std::string node;                  ///< Host name of where it runs.
  std::string node_ip;
  std::int64_t pid = 0;
};

/// How a trial ended.
struct TrialEnd {
  TrialState state = TrialState::terminated;
  std::string reason;  ///< "trainable finished", "stop criterion training_iteration >= 27", ...
  std::string error;   ///< The text of the failure, for state `error`.
};

/// Counts of trials by state, and how the experiment ended.
struct ExperimentEnd {
  std::int64_t terminated_trials = 0;
  std::int64_t failed_trials = 0;
  std::int64_t unfinished_trials = 0;
  std::string reason;  ///< "all trials ended", "time budget of 60 s used up", ...
  std::string error;   ///< What broke the experiment off; empty if nothing.
  /// It ended before its time, and what ran was left unfinished so that it can go on another time.
  bool interrupted = false;
};

/// Told of everything that happens, in order. Exporters and displays are Callbacks.
///
/// All calls come from one thread of its own, never from the driver's, one at a time; a slow one
/// slows the trials, not the driver. One that throws is switched off with a message in driver.log;
/// the experiment goes on.
///
/// A trial that goes back to a checkpoint reports some iterations again: a result whose
/// training_iteration is not above the last one takes the place of all from there on.
///
/// When an experiment is resumed, a callback is told of its start, and not again of what the run
/// before was told: no trials that had ended, no old results. A trial that goes on comes with its
/// next start, whose `start_iteration` says where from; its first result may take the place of some
/// that the run before was told.
class Callback {
 public:
  virtual ~Callback();

  /// For messages.
  [[nodiscard]] virtual std::string name() const;
  virtual void on_experiment_start(const ExperimentInfo& experiment);
  /// At each start of the trial.
  virtual void on_trial_start(const TrialInfo& trial);
  virtual void on_trial_result(const TrialInfo& trial, const Result& result);
  virtual void on_trial_checkpoint(const TrialInfo& trial, const Checkpoint& checkpoint);
  virtual void on_trial_completed(const TrialInfo& trial, const TrialEnd& end);
  /// A failed start; `will_retry` tells whether it is the last word.
  virtual void on_trial_failed(const TrialInfo& trial, const TrialEnd& end, bool will_retry);
  /// All files are complete by then, so that ResultGrid::open(experiment.path) can be called.
  virtual void on_experiment_end(const ExperimentInfo& experiment, const ExperimentEnd& end);
  /// Called when no further event is waiting: a good moment to flush.
  virtual void on_idle();
};

}  // namespace tune
