#pragma once

#include <memory>

#include <tune/ids.hpp>
#include <tune/json.hpp>
#include <tune/scheduler.hpp>

namespace tune {

struct PbtReplayOptions {
  /// What pbt_policy() gives: `[{"step": 0, "config": {...}}, {"step": 4, "config": {...}}, ...]`,
  /// steps in `training_iteration`, growing. Further members of an entry are ignored.
  Json policy = {};
};

/// The schedule of configurations behind the weights that a trial of a finished experiment has: its
/// own, and before an exchange those of the donor it took over from, back to the first. Steps count
/// the iterations that these weights were trained, whatever the counters of the trials said.
///
/// `records` are the records of the policy log of pbt() or pb2(), in their order, of all trials;
/// what is no record of an exchange is passed over. Empty if the trial never exchanged.
/// @throws std::invalid_argument if `records` is no array, or a record lacks its configurations
[[nodiscard]] Json pbt_policy(const Json& records, TrialId trial);

/// Makes a scheduler that trains one trial by a schedule of configurations that population based
/// training found (Jaderberg et al., 2017; Ray Tune's PopulationBasedTrainingReplay).
///
/// At the step of an entry the trial pauses, and goes on from its own checkpoint of that step under
/// the entry's configuration: members that the entry names take the place of the trial's, the
/// others stay. If the trial lost that checkpoint it is trained to the step again, and changes one
/// step later. The trial must begin with the configuration of step 0, if there is one: give it as
/// Experiment::points_to_evaluate. A second trial is refused. Needs no metric.
/// @throws std::invalid_argument naming what is wrong with the policy
[[nodiscard]] std::unique_ptr<TrialScheduler> pbt_replay(const PbtReplayOptions& options);

}  // namespace tune
