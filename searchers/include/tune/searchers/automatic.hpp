#pragma once

#include <cstdint>
#include <memory>

#include <tune/searcher.hpp>

namespace tune {

struct AutomaticOptions {
  /// Trials that the Gaussian process proposes before TPE takes over; at least 0.
  std::int64_t gp_trials = 1000;
  /// With more parameters than this, TPE proposes from the first trial on; at least 0.
  std::int64_t gp_parameters = 100;
};

/// Makes the searcher of an experiment that names none: it picks one that fits.
///
/// Without a metric it is random_search(). With one it is gp(), which finds good configurations in
/// the fewest trials of all searchers here, until `gp_trials` trials have been proposed, and then
/// tpe() with max_kernels 500, whose cost does not grow: by then the Gaussian process thinks for
/// longer than it gains. Where a space has more than `gp_parameters` parameters, tpe() alone. Both
/// are told of all trials from the first on. What it does, and each change of it, is recorded with
/// the trial from which on it holds.
/// @throws std::invalid_argument naming an option out of range.
[[nodiscard]] std::unique_ptr<Searcher> automatic(const AutomaticOptions& options = {});

}  // namespace tune
