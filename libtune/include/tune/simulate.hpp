#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tune/experiment.hpp>
#include <tune/resources.hpp>
#include <tune/result_grid.hpp>
#include <tune/timeline.hpp>
#include <tune/workload.hpp>

namespace tune {

/// Some machines of a kind.
struct NodeGroup {
  std::int64_t nodes = 1;
  LocalResources node = {.cpus = 1};  ///< What each of them offers, with its labels.
};

/// The machines of a simulation. All times are in simulated seconds, all chance is keyed by `seed`.
struct Cluster {
  std::int64_t nodes = 1;
  LocalResources node = {.cpus = 1};       ///< What each of them offers, with its labels.
  std::vector<NodeGroup> more_nodes = {};  ///< Of other kinds, numbered behind those.
  std::optional<std::uint64_t> seed = {};  ///< Default: the experiment's.

  double startup_s = 0;  ///< Of each start of a trial.
  double save_s = 0;     ///< Of each checkpoint.
  double load_s = 0;     ///< Of each start from a checkpoint.

  /// Each start of a trial is slower by the factor 1 + |z|, where z is normal with this standard
  /// deviation (Li et al., "A System for Massively Parallel Hyperparameter Tuning", 2020, A.1).
  double straggler_sd = 0;
  /// The chance that a running trial is lost in a second, set-up and saving included (A.1 of the
  /// same paper). It counts as a failure of the trial.
  double drop_chance = 0;
  double step_failure_chance = 0;  ///< That a step fails, after its time.
  double node_losses = 0;  ///< Of a node, a second: the rate of an exponential distribution.
  /// The mean time after which a lost node comes back, exponentially distributed; 0: never.
  double node_return_s = 0;

  // Thinking time is charged as given numbers, not as it is measured: that would not come out the
  // same twice.

  double suggestion_s = 0;  ///< The searcher's, for each suggestion.
  /// The driver's and scheduler's, for each event: one after the other, and what is decided takes
  /// effect after it.
  double decision_s = 0;
};

struct SimulationOptions {
  /// False: TrialResult::history() is empty and Scope::last works alone; memory is then linear in
  /// the live trials, but for about a kilobyte for each that has ended.
  bool keep_history = true;
};

/// What came out of a simulation.
struct Simulation {
  /// In memory. Paths are empty, those of checkpoints too: they tell which were kept at the end.
  ResultGrid results;
  Timeline timeline;
  std::uint64_t events = 0;           ///< Of the engine.
  std::uint64_t starts = 0;           ///< Of trials.
  double busy_s = 0;                  ///< Of all starts together.
  std::vector<std::string> warnings;  ///< The first 100.
};

/// Runs the experiment to its end under a virtual clock.
///
/// Engine, scheduler and searcher are those of tune_run(); only what trains, the machines and the
/// clock are not. The same experiment with the same seeds on the same cluster gives the same
/// simulation. Result::timestamp is the simulated time.
///
/// Of the experiment these count: all that says what is tried, when it ends and what becomes of
/// failures, with time_budget and step_timeout in simulated seconds. Its callbacks are told what
/// they are told on the real stages, in this thread, with empty paths; one that throws is switched
/// off with a warning. What is of processes and of files does not count: nothing is written, and a
/// field of that kind that was set (storage_path, exporters, local, ...) is named in a warning;
/// `resume_from` is refused. Without a `seed` it is 0.
///
/// Takes the experiment's searcher and scheduler; they serve one run.
/// Costs O(log n) an event, for n live trials.
/// @throws std::invalid_argument for a definition, cluster or workload that cannot work, before
/// anything starts; std::invalid_argument too for a step of negative or endless duration.
/// A fault of scheduler or searcher ends it early: see ExperimentEnd::error.
[[nodiscard]] Simulation simulate(Experiment& experiment, const Cluster& cluster,
                                  Workload& workload, const SimulationOptions& options = {});
[[nodiscard]] inline Simulation simulate(Experiment& experiment, const Cluster& cluster,
                                         const std::unique_ptr<Workload>& workload,
                                         const SimulationOptions& options = {}) {
  return simulate(experiment, cluster, *workload, options);
}
[[nodiscard]] inline Simulation simulate(Experiment&& experiment, const Cluster& cluster,
                                         Workload& workload,
                                         const SimulationOptions& options = {}) {
  return simulate(experiment, cluster, workload, options);
}
[[nodiscard]] inline Simulation simulate(Experiment&& experiment, const Cluster& cluster,
                                         const std::unique_ptr<Workload>& workload,
                                         const SimulationOptions& options = {}) {
  return simulate(experiment, cluster, *workload, options);
}

}  // namespace tune
