#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <tune/scheduler.hpp>

namespace tune {

struct PashaOptions {
  std::string time_attr = "training_iteration";  ///< Measures progress; must grow.
  std::string metric = {};                       ///< Default: the experiment's.
  std::optional<Mode> mode = {};                 ///< Required with a metric of its own.
  double max_t = 100;           ///< The paper's R: no trial trains longer, few train so long.
  double grace_period = 1;      ///< First milestone, the paper's r. Above 0, at most max_t.
  double reduction_factor = 3;  ///< The paper's eta; above 1.
  /// What counts as the same rank, as the difference of two values in the rung below the top one:
  /// "soft_ranking_auto": the noise of the curves, estimated as in section 4.3;
  /// "soft_ranking": `epsilon`; "soft_ranking_std", "soft_ranking_mean_dst" and
  /// "soft_ranking_median_dst": `epsilon_scaling` times the standard deviation of the values there,
  /// the mean and the median of their distances.
  std::string ranking_criterion = "soft_ranking_auto";
  double epsilon = 0;                ///< For "soft_ranking"; from 0, where 0 is the exact ranking.
  double epsilon_scaling = 1;        ///< For the three last; from 0.
  double percentile = 90;            ///< Of the estimated distances; the paper's N, 0 to 100.
  std::int64_t ranked_trials = 100;  ///< So many of the best of the top rung are ranked; from 2.
};

/// Makes PASHA, progressive asynchronous successive halving.
///
/// Bohdal, Balles, Wistuba, Ermis, Archambeau and Zappella, "PASHA: Efficient HPO and NAS with
/// Progressive Resource Allocation", ICLR 2023, algorithm 1. Milestones are grace_period *
/// reduction_factor^k below max_t, by multiplication, and max_t. Trials pause at every milestone,
/// so the trainable must have checkpoints; a free slot goes to the best of the highest rung that
/// is among the best floor(n / reduction_factor) of all values of its rung and was not promoted
/// (equal values by trial id), and without one to a new trial. At first trials get to the second
/// milestone. One more is opened whenever a trial comes to the top rung and the trials there stand
/// in another order than in the rung below: at some place of the order stands a trial whose value
/// below differs by more than epsilon from the value of the trial that has this place there
/// (section 4.2). Epsilon is the percentile of the distances of pairs of curves that criss-cross
/// (section 4.3): 0 until there is such a pair.
///
/// Departs from the paper in that
/// - a trial that the free slot would be given to at once goes on without a pause;
/// - where more than `ranked_trials` are in the top rung, the best of them are ranked, so that a
///   result costs no more with a million trials;
/// - pairs are compared at times that both have reported, and only in the top rung;
/// - the last rung is max_t also where it is no power of the reduction factor.
///
/// A value stays in its rung whatever becomes of its trial; only a paused trial is promoted. One
/// that jumps over milestones enters each rung with the value it has then and waits in the highest.
/// NaN and infinity count as worst. When no trial runs and none can be added those that still
/// wait are ended by the engine as "left paused by the scheduler": they are not among the best of
/// their rung, or they are at the top and their order is stable. O(log n) a result, and O(results
/// of a trial * ranked_trials) for one that comes to the top rung.
/// @throws std::invalid_argument naming an option out of range.
[[nodiscard]] std::unique_ptr<TrialScheduler> pasha(const PashaOptions& options = {});

}  // namespace tune
