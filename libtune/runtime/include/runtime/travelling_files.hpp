#pragma once

#include <functional>
#include <optional>

#include <tune/error.hpp>

#include "engine/commands.hpp"
#include "engine/events.hpp"

namespace tune::runtime {

/// Brings files to a node that does not see the driver's, and takes them from there. Part of an
/// agent: `done` is called by its actor, once, at once or later; with an error if it cannot be.
class TravellingFiles {
 public:
  using Done = std::function<void(const std::optional<Error>& fault)>;

  virtual ~TravellingFiles() = default;
  /// Before a trial starts: the checkpoint and the saved values that it goes on from must be here.
  /// An error of code `damaged`: the checkpoint is not as it was stored.
  virtual void bring(const engine::Launch& launch, Done done) = 0;
  /// Before the driver hears of a checkpoint, of a value with files, or of the end of a trial: its
  /// files, or what it has printed, must be there.
  virtual void deliver(const engine::TrialMessage& message, Done done) = 0;
  /// Nobody needs this checkpoint any more; it may be here.
  virtual void forget(const engine::CheckpointLocation& checkpoint) = 0;
};

}  // namespace tune::runtime
