#pragma once

#include <cstdint>
#include <memory>

#include "support/trial_behaviour.hpp"

namespace tune::test {

/// How often training code goes wrong; all are chances, 0 to 1.
struct RandomBehaviourOptions {
  std::uint64_t seed = 0;
  double setup_failure = 0;      ///< Each start.
  double load_failure = 0;       ///< Each start from a checkpoint.
  double damage = 0;             ///< Each start from a checkpoint: it is damaged.
  double step_failure = 0;       ///< Each step.
  double save_failure = 0;       ///< Each save.
  double invalid = 0;            ///< A trial, at every start.
  double invalid_step = 0;       ///< Each step.
  double not_finite = 0;         ///< Each result: NaN or an infinity instead of the metric.
  double nan_epoch = 0;          ///< Each result.
  double missing = 0;            ///< Each result: no metric at all.
  double text = 0;               ///< Each result: text instead of the metric.
  double own_save = 0;           ///< Each step.
  double never_stops = 0;        ///< Each start.
  double dies_waiting = 0;       ///< Each wait for a decision.
  int max_slowness = 0;          ///< Steps before an order is heeded.
  std::int64_t max_length = 12;  ///< Trials end by themselves after 1 to so many steps.
  double no_end = 0;             ///< A trial that would never end by itself.
};

/// "score" (random, rising with the iterations), "loss" (falling) and "epoch" (rising, mostly).
/// What a step reports depends on seed, trial and iteration alone; whether it fails depends on the
/// incarnation too.
[[nodiscard]] std::unique_ptr<TrialBehaviour> random_behaviour(
    const RandomBehaviourOptions& options);

}  // namespace tune::test
