#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tune/scheduler.hpp>

namespace tune {

struct HyperbandOptions {
  std::string time_attr = "training_iteration";  ///< Measures progress; must grow.
  std::string metric = {};                       ///< Default: the experiment's.
  std::optional<Mode> mode = {};                 ///< Required with a metric of its own.
  double max_t = 81;             ///< The paper's R: the longest a trial trains. At least 1.
  double reduction_factor = 3;   ///< The paper's eta; above 1.
  bool stop_last_trials = true;  ///< False: trials that got to max_t train on to their own end.
};

/// Makes the synchronous HyperBand scheduler. Its trials pause, so it needs checkpoints.
///
/// Li et al., "Hyperband: A Novel Bandit-Based Approach to Hyperparameter Optimization", JMLR 18,
/// 2018, section 3, algorithm 1. With s_max the largest s for which reduction_factor^s is at most
/// max_t (by multiplication, not by a logarithm), the brackets s = s_max, ..., 0 begin one after
/// the other, then round again; bracket s has n = ceil((s_max + 1) / (s + 1) * reduction_factor^s)
/// trials and compares them at max_t / reduction_factor^s, ..., max_t / reduction_factor: the best
/// max(1, floor(n / reduction_factor^k)) go on to its rung k, those that are equal by the lower
/// trial id. For max_t = 81 and factor 3 these are 81, 34, 15, 8 and 5 trials. Milestones need not
/// be whole: a trial is compared at its first result at or above one. NaN and infinity count as
/// worst. O(log n) a result, over a whole rung.
///
/// What algorithm 1 leaves open or does otherwise:
/// - Trials pause at a milestone until all of their rung are there. A free slot goes to the best
///   trial that may go on in the oldest bracket, else to a new trial in the newest; a new bracket
///   begins when that one is full. So several brackets are under way at a time.
/// - A trial that ends or fails before it is compared leaves its rung, which does not wait for it:
///   the next best takes its place. A trial that jumps over milestones is compared at each of them
///   with the value it has then, without training in between. One that gets to max_t is stopped.
/// - A bracket closes with fewer trials where no more can come: since the searcher has no more, or
///   since it waits for results while no trial runs. The places are counted from what it has.
/// @throws std::invalid_argument naming an option out of range.
[[nodiscard]] std::unique_ptr<TrialScheduler> hyperband(const HyperbandOptions& options = {});

/// Makes HyperBand as BOHB has it, for a searcher that models what it was told.
///
/// Falkner, Klein and Hutter, "BOHB: Robust and Efficient Hyperparameter Optimization at Scale",
/// ICML 2018, section 3.2. As hyperband(), but a bracket begins only when all trials of the one
/// before are compared in its first rung: so the searcher, which is told each result as it comes,
/// knows a whole rung when it suggests the first of the next bracket. Slots that the trials under
/// way do not need stay free until then. BOHB's own model is the searcher's; any will do.
/// @throws std::invalid_argument naming an option out of range.
[[nodiscard]] std::unique_ptr<TrialScheduler> hyperband_for_bohb(
    const HyperbandOptions& options = {});

}  // namespace tune
