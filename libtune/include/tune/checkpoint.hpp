#pragma once

#include <cstdint>
#include <filesystem>

namespace tune {

/// When trials save, and how many checkpoints are kept.
struct CheckpointOptions {
  /// Save after each iteration that is a multiple of this. 0: only when asked (a pause, an
  /// exploit, `at_end`); a train function then saves whenever it passes a writer.
  std::int64_t every = 0;
  std::int64_t keep = 1;  ///< Newest checkpoints kept a trial; at least 1.
  bool at_end = false;    ///< Save also when a trial ends well.
};

/// A stored checkpoint of a trial.
struct Checkpoint {
  std::filesystem::path path;           ///< Its directory.
  std::int64_t training_iteration = 0;  ///< Iterations done when it was saved.
};

}  // namespace tune
