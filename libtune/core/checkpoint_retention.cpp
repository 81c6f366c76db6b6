#include "core/checkpoint_retention.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "core/objective.hpp"

namespace tune {

CheckpointOptions::~CheckpointOptions() = default;

}  // namespace tune

namespace tune::core {

std::optional<Objective> objective_of(const CheckpointOptions& options,
                                      const std::optional<Objective>& experiment) {
  if (options.keep_best <= 0) return std::nullopt;
  return own_objective({.who = "checkpoint: keep_best",
                        .fault_without_metric =
                            "checkpoint.keep_best is " + std::to_string(options.keep_best) +
                            ", but there is no metric: set checkpoint.metric, or metric and mode "
                            "of the experiment",
                        .metric = options.metric,
                        .mode = options.mode},
                       experiment);
}

std::vector<bool> kept_checkpoints(std::span<const double> scores, const CheckpointOptions& options,
                                   Mode mode) {
  const std::size_t count = scores.size();
  std::vector<bool> kept(count, false);
  const auto keep = std::min(count, static_cast<std::size_t>(options.keep));
  std::fill(kept.end() - static_cast<std::ptrdiff_t>(keep), kept.end(), true);
  const auto keep_best = std::min(count, static_cast<std::size_t>(options.keep_best));
  if (keep_best == 0) return kept;
  std::vector<std::size_t> ranking(count);
  std::iota(ranking.begin(), ranking.end(), std::size_t{0});
  std::sort(ranking.begin(), ranking.end(), [&](std::size_t a, std::size_t b) {
    if (is_better(mode, scores[a], scores[b])) return true;
    return !is_better(mode, scores[b], scores[a]) && a > b;
  });
  for (std::size_t i = 0; i < keep_best; ++i) kept[ranking[i]] = true;
  return kept;
}

}  // namespace tune::core
