#pragma once

#include <cstdint>
#include <optional>

#include <tune/result.hpp>

#include "engine/events.hpp"
#include "engine/horizon.hpp"

namespace tune::runtime {

/// Follows from outside whether a trial's training code is at work, as opposed to waiting for a
/// decision, for acknowledgements or for its last checkpoint to be stored: only then a step can
/// hang.
class StepWatch {
 public:
  StepWatch(engine::Horizon horizon, std::uint64_t max_unacknowledged)
      : horizon_(std::move(horizon)), max_unacknowledged_(max_unacknowledged) {}

  void on(const engine::TrialMessage& message);
  void proceed(engine::Horizon horizon) { horizon_ = std::move(horizon); }
  void acknowledge(std::uint64_t count);

  [[nodiscard]] bool is_at_work() const;
  [[nodiscard]] std::int64_t last_iteration() const { return last_iteration_; }
  [[nodiscard]] std::uint64_t next_sequence() const { return next_sequence_; }

 private:
  engine::Horizon horizon_;
  std::uint64_t max_unacknowledged_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t checkpoints_end_ = 0;  // behind the last checkpoint
  std::int64_t last_iteration_ = 0;
  std::optional<Result> last_result_;  // if the trial goes on after it
};

}  // namespace tune::runtime
