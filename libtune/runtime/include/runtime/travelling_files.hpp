#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <tune/error.hpp>

#include "engine/commands.hpp"
#include "engine/events.hpp"
#include "runtime/transfer_messages.hpp"

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
  /// Before the driver hears that a parallel worker of a trial has ended: what it has printed.
  virtual void deliver_worker(const std::string& trial_name, std::uint32_t incarnation,
                              std::size_t rank, Done done) = 0;
  /// Another driver has taken over, and its files are there.
  virtual void take_from(const FileServerActor& driver_files) = 0;
  /// Nobody needs this checkpoint any more; it may be here.
  virtual void forget(const engine::CheckpointLocation& checkpoint) = 0;
};

}  // namespace tune::runtime
