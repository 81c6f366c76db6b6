#pragma once

#include <optional>
#include <span>
#include <vector>

#include <tune/checkpoint.hpp>
#include <tune/mode.hpp>
#include <tune/objective.hpp>

namespace tune::core {

/// By what `options.keep_best` ranks; empty if it is 0.
/// @throws std::invalid_argument if there is no metric, if the mode of its own metric is not given,
/// and if that of the experiment's metric is another there.
[[nodiscard]] std::optional<Objective> objective_of(const CheckpointOptions& options,
                                                    const std::optional<Objective>& experiment);

/// Which checkpoints stay, of a trial's in the order of their age, the oldest first: the newest
/// `options.keep`, and the `options.keep_best` with the best scores. Of equal scores the newer one
/// is the better; NaN is worst, see is_better().
[[nodiscard]] std::vector<bool> kept_checkpoints(std::span<const double> scores,
                                                 const CheckpointOptions& options, Mode mode);

}  // namespace tune::core
