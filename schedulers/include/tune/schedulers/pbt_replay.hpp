#pragma once

#include <filesystem>
#include <memory>

#include <tune/ids.hpp>
#include <tune/json.hpp>
#include <tune/scheduler.hpp>

namespace tune {

struct PbtReplayOptions {
  /// What pbt_policy() gives: `[{"step": 0, "config": {...}}, {"step": 4, "config": {...}}, ...]`,
  /// steps in `training_iteration`, growing. Further members of an entry are ignored.
  Json policy = {};
  /// Instead of `policy`: see read_pbt_policy(). Read when the scheduler is made, and recorded as
  /// `policy`, so a resume does not need the file.
  std::filesystem::path policy_file = {};
};

/// The schedule of configurations behind the weights that a trial of a finished experiment has: its
/// own, and before an exchange those of the donor it took over from, back to the first. Steps count
/// the iterations that these weights were trained, whatever the counters of the trials said.
///
/// `records` are the messages of kind `exploit` in the journal, in their order, of all trials; what
/// has no donor is passed over. Empty if the trial never exchanged.
/// @throws std::invalid_argument if `records` is no array, or a record lacks a member
[[nodiscard]] Json pbt_policy(const Json& records, TrialId trial);

/// The same of a file that pbt() or pb2() left in the directory of its experiment:
/// pbt_policy_00003.txt for trial 3. Of pbt_global.txt, or another with the exchanges of several
/// trials, that of the trial in the last line. Ray Tune's files of these names can be read, too;
/// its counters go back with an exchange, ours go on, so the steps are right where a trial and its
/// donor had come equally far.
/// @throws std::system_error naming the file if it cannot be read, std::invalid_argument naming the
/// line that is none
[[nodiscard]] Json read_pbt_policy(const std::filesystem::path& file);

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
