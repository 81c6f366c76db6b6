#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <tune/scheduler.hpp>

namespace tune {

struct SuccessiveHalvingOptions {
  std::string time_attr = "training_iteration";  ///< Measures progress; must grow.
  std::string metric = {};                       ///< Default: the experiment's.
  std::optional<Mode> mode = {};                 ///< Required with a metric of its own.
  double max_t = 81;                             ///< The paper's R: the longest a trial trains.
  double reduction_factor = 3;                   ///< The paper's eta; above 1.
  bool stop_last_trials = true;  ///< False: trials that got to max_t train on to their own end.
  /// Trials a bracket. Default (0): reduction_factor^k rounded up, where k is how often a bracket
  /// halves, so that about one gets to max_t.
  std::int64_t n = 0;
  double grace_period = 1;   ///< The paper's r. Above 0, at most max_t.
  std::int64_t bracket = 0;  ///< The paper's s: the first milestone is grace * eta^s.
};

/// Makes the synchronous successive halving scheduler. Its trials pause, so it needs checkpoints.
///
/// Li et al., "A System for Massively Parallel Hyperparameter Tuning", MLSys 2020, section 3.1 and
/// algorithm 1 (after Jamieson and Talwalkar, AISTATS 2016). Milestones are
/// grace_period * reduction_factor^(bracket + k) below max_t, by multiplication, then max_t; the
/// best max(1, floor(n / reduction_factor^k)) of n trials go on to rung k. All brackets are alike.
/// In everything else it does what hyperband() does.
/// @throws std::invalid_argument naming an option out of range.
[[nodiscard]] std::unique_ptr<TrialScheduler> successive_halving(
    const SuccessiveHalvingOptions& options = {});

}  // namespace tune
