#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <tune/scheduler.hpp>

namespace tune {

struct AshaOptions {
  std::string time_attr = "training_iteration";  ///< Measures progress; must grow.
  std::string metric = {};                       ///< Default: the experiment's.
  std::optional<Mode> mode = {};                 ///< Required with a metric of its own.
  /// Trials are stopped at the first result from here on that has the metric. One without it is not
  /// told: a `training_iteration` among the stop criteria bounds a trial that reports no metric.
  double max_t = 100;
  double grace_period = 1;      ///< First milestone: no stop below it. Above 0, at most max_t.
  double reduction_factor = 4;  ///< The paper's eta; above 1.
  std::int64_t brackets = 1;    ///< How many; bracket s has its first milestone at grace * eta^s.
};

/// Makes the asynchronous successive halving scheduler, stopping variant.
///
/// Li et al., "A System for Massively Parallel Hyperparameter Tuning", MLSys 2020, section 3.2 and
/// algorithm 2. Milestones are grace_period * reduction_factor^k below max_t, by multiplication.
/// Departs from algorithm 2 in that trials never pause: a trial that reaches a milestone goes on
/// while it is among the best max(1, floor(n / reduction_factor)) of the n values that the rung
/// then has, its own included, and is stopped otherwise (equal values all go on). A trial that
/// jumps over milestones enters each rung with the value it has then and is judged at the highest.
/// NaN and infinity count as worst. At max_t a trial enters the rungs it has not entered and is
/// stopped. O(log n) a result.
///
/// With several brackets a trial's bracket is drawn, keyed by its id, with the chances of
/// HyperBand's bracket sizes. There are at most as many as have their first milestone by max_t.
/// @throws std::invalid_argument naming an option out of range.
[[nodiscard]] std::unique_ptr<TrialScheduler> asha(const AshaOptions& options = {});

}  // namespace tune
