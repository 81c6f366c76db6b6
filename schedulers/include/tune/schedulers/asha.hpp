#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tune/scheduler.hpp>

namespace tune {

/// What becomes of a trial at a milestone.
enum class AshaType {
  stopping,   ///< It goes on or is stopped at once; no trial pauses.
  promotion,  ///< It pauses until it is promoted: the paper's algorithm. Needs checkpoints.
};

/// "stopping" or "promotion".
[[nodiscard]] std::string_view to_string(AshaType type);
/// @throws std::invalid_argument naming the text and what is allowed.
[[nodiscard]] AshaType asha_type_from_string(std::string_view text);

struct AshaOptions {
  std::string time_attr = "training_iteration";  ///< Measures progress; must grow.
  std::string metric = {};                       ///< Default: the experiment's.
  std::optional<Mode> mode = {};                 ///< Required with a metric of its own.
  /// With `stop_last_trials` trials are stopped at the first result from here on that has the
  /// metric. One without it is not told: a `training_iteration` among the stop criteria bounds a
  /// trial that reports no metric.
  double max_t = 100;
  double grace_period = 1;      ///< First milestone: no stop below it. Above 0, at most max_t.
  double reduction_factor = 4;  ///< The paper's eta; above 1.
  std::int64_t brackets = 1;    ///< How many; bracket s has its first milestone at grace * eta^s.
  AshaType type = AshaType::stopping;
  bool stop_last_trials = true;  ///< False: trials that got to max_t train on to their own end.
};

/// Makes the asynchronous successive halving scheduler.
///
/// Li et al., "A System for Massively Parallel Hyperparameter Tuning", MLSys 2020, section 3.2 and
/// algorithm 2. Milestones are grace_period * reduction_factor^k below max_t, by multiplication.
/// NaN and infinity count as worst. A trial that jumps over milestones enters each rung with the
/// value it has then and is judged at the highest. A value once in a rung counts there whatever
/// becomes of its trial. At max_t a trial enters the rungs it has not entered and is stopped.
/// O(log n) a result or a choice.
///
/// `promotion` is algorithm 2. A trial that gets to a milestone pauses there. A free slot looks
/// from the highest rung down for the best trial that waits; if it is among the best
/// floor(n / reduction_factor) of the n that ever came to the rung it goes on from its checkpoint
/// to the next milestone (of equal values those of the lower trial id are ahead), else a new trial
/// begins. Departs from the paper where no new trial can come: once none runs and none can be
/// promoted, the trials that still wait are stopped. If it is only that the searcher waits for
/// results, one is, the worst in the lowest rung, until the searcher has another.
///
/// `stopping` departs from algorithm 2 in that trials never pause: a trial goes on while it is
/// among the best max(1, floor(n / reduction_factor)) of the n values that the rung then has, its
/// own included, and is stopped otherwise (equal values all go on).
///
/// With several brackets this is asynchronous HyperBand (same paper, section 3.2). There are at
/// most as many as have their first milestone by max_t, and bracket s of them has HyperBand's size
/// for it. In the promotion type new trials go to bracket 0 until that number of them has begun,
/// then to the next, and so on round again; a slot looks for a promotion in the bracket whose turn
/// it is, in the others only where no new trial can come. In the stopping type a trial's bracket is
/// drawn with the chances of these sizes, keyed by its id, so that it does not depend on the order
/// of events.
/// @throws std::invalid_argument naming an option out of range.
[[nodiscard]] std::unique_ptr<TrialScheduler> asha(const AshaOptions& options = {});

/// Makes the same under the name that Ray Tune gives it, AsyncHyperBandScheduler; with one bracket,
/// as there by default, it is asha(). @throws std::invalid_argument naming an option out of range.
[[nodiscard]] std::unique_ptr<TrialScheduler> async_hyperband(const AshaOptions& options = {});

}  // namespace tune
