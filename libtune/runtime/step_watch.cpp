#include "runtime/step_watch.hpp"

#include <algorithm>
#include <variant>

namespace tune::runtime {

void StepWatch::on(const engine::TrialMessage& message) {
  next_sequence_ = message.sequence + 1;
  if (std::holds_alternative<engine::CheckpointStored>(message.report)) {
    checkpoints_end_ = next_sequence_;
  }
  if (const auto* reported = std::get_if<engine::Reported>(&message.report)) {
    last_iteration_ = reported->result.training_iteration;
    last_result_.reset();
    if (!reported->result.done) last_result_ = reported->result;
  }
}

void StepWatch::acknowledge(std::uint64_t count) { acknowledged_ = std::max(acknowledged_, count); }

bool StepWatch::is_at_work() const {
  if (next_sequence_ - acknowledged_ >= max_unacknowledged_) return false;
  if (acknowledged_ < checkpoints_end_) return false;
  return !last_result_ || !horizon_.is_reached(*last_result_);
}

}  // namespace tune::runtime
