#pragma once

#include <memory>
#include <vector>

#include "engine/engine.hpp"

namespace tune::test {

/// A second engine that gets what a journal would have of the events that a first one handles: as
/// text, with what was decided, its own scheduler never asked. It must give the same commands.
class ReplayTwin {
 public:
  /// `scheduler`: what the first one has; only its options are looked at.
  ReplayTwin(const engine::EngineOptions& options, const TrialScheduler& scheduler);
  ~ReplayTwin();

  /// @throws BrokenInvariant naming the first command that differs.
  void follow(const engine::Event& event, Time now, const engine::Decisions& decisions,
              const std::vector<engine::Command>& commands);

 private:
  engine::EngineOptions options_;
  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace tune::test
