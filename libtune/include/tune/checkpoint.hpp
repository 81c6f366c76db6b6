#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <tune/mode.hpp>

namespace tune {

/// When trials save, and how many checkpoints are kept.
struct CheckpointOptions {
  /// Save after each iteration that is a multiple of this. 0: only when asked (a pause, an
  /// exploit, `at_end`); a train function then saves whenever it passes a writer.
  std::int64_t every = 0;
  std::int64_t keep = 1;  ///< Newest checkpoints kept a trial; at least 1.
  /// Kept beside those: so many of a trial with the best value of the metric at their iteration.
  /// A value that is not finite or missing is worst; of equal ones the newer is better.
  std::int64_t keep_best = 0;
  std::string metric = {};        ///< For keep_best; default: the experiment's.
  std::optional<Mode> mode = {};  ///< Required with a metric that is not the experiment's.
  bool at_end = false;            ///< Save also when a trial ends well.

  // Where g++ 12 can look into it, it warns of an uninitialised `metric` in the user's program.
  ~CheckpointOptions();
};

/// A stored checkpoint of a trial.
struct Checkpoint {
  std::filesystem::path path;           ///< Its directory.
  std::int64_t training_iteration = 0;  ///< Iterations done when it was saved.
};

}  // namespace tune
