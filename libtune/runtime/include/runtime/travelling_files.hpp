#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/commands.hpp"
#include "engine/events.hpp"

namespace tune::runtime {

/// Brings files to a node that does not see the driver's, and takes them from there. Part of an
/// agent: `done` is called by its actor, once, at once or later; with a text if it cannot be.
class TravellingFiles {
 public:
  using Done = std::function<void(const std::optional<std::string>& fault)>;

  virtual ~TravellingFiles() = default;
  /// Before a trial starts: the checkpoint and the saved values that it goes on from must be here.
  virtual void bring(const engine::Launch& launch, Done done) = 0;
  /// Before the driver hears of a checkpoint or of a value with files: they must be there.
  virtual void deliver(const engine::TrialMessage& message, Done done) = 0;
};

}  // namespace tune::runtime
