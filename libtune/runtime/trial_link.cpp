#include "runtime/trial_link.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace tune::runtime {

TrialLink::TrialLink(Options options, std::function<void()> wake)
    : trial_(options.trial),
      incarnation_(options.incarnation),
      max_unacknowledged_(options.max_unacknowledged),
      stop_flag_(std::make_shared<std::atomic<bool>>(false)),
      wake_(std::move(wake)),
      after_telling_(std::move(options.after_telling)),
      horizon_(std::move(options.horizon)) {}

void TrialLink::proceed(engine::Horizon horizon) {
  const std::lock_guard lock(mutex_);
  horizon_ = std::move(horizon);
  ordered_.notify_all();
}

void TrialLink::save() {
  const std::lock_guard lock(mutex_);
  save_ = true;
  ordered_.notify_all();
}

void TrialLink::pause() {
  const std::lock_guard lock(mutex_);
  pause_ = true;
  stop_flag_->store(true);
  wake_to_end();
}

void TrialLink::stop(bool save) {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  saves_at_stop_ = save;
  stop_flag_->store(true);
  wake_to_end();
}

void TrialLink::acknowledge(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  if (count <= acknowledged_) return;
  acknowledged_ = count;
  acknowledged_changed_.notify_all();
}

std::vector<engine::TrialMessage> TrialLink::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(messages_, {});
}

void TrialLink::abandon(std::string message) {
  const std::lock_guard lock(mutex_);
  wake_ = {};
  stop_ = true;
  stop_flag_->store(true);
  push(engine::Ended{engine::EndKind::abandoned, std::move(message)});
  wake_to_end();
}

void TrialLink::tell(engine::TrialReport report) {
  {
    const std::lock_guard lock(mutex_);
    push(std::move(report));
  }
  call_after_telling();
}

void TrialLink::announce_end() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_ending_, true)) return;
    if (wake_) wake_();
  }
  call_after_telling();
}

bool TrialLink::is_ending() const {
  const std::lock_guard lock(mutex_);
  return is_ending_;
}

void TrialLink::report(Result result) {
  std::unique_lock lock(mutex_);
  wait_for_room(lock, max_unacknowledged_ - 1);
  last_result_.reset();
  if (!result.done && horizon_.is_reached(result)) last_result_ = result;
  // What is reported once more was decided before, and that stands.
  const std::int64_t iteration = result.training_iteration;
  is_at_end_ = iteration > reported_until_ && horizon_.is_end(result);
  reported_until_ = std::max(reported_until_, iteration);
  push(engine::Reported{std::move(result)});
  lock.unlock();
  call_after_telling();
}

void TrialLink::tell_in_turn(engine::TrialReport report, std::uint64_t on_their_way) {
  std::unique_lock lock(mutex_);
  wait_for_room(lock, std::min(on_their_way, max_unacknowledged_ - 1));
  push(std::move(report));
  lock.unlock();
  call_after_telling();
}

void TrialLink::wait_for_checkpoint() {
  std::unique_lock lock(mutex_);
  acknowledged_changed_.wait(
      lock, [&] { return ended_ || stop_ || pause_ || acknowledged_ >= checkpoints_end_; });
}

// A trial that is about to end tells its last in any case, so that one who writes slowly does not
// make it look like one that hangs. That is bounded by its grace.
void TrialLink::wait_for_room(std::unique_lock<std::mutex>& lock, std::uint64_t on_their_way) {
  acknowledged_changed_.wait(lock, [&] {
    return ended_ || stop_ || pause_ || next_sequence_ - acknowledged_ <= on_their_way;
  });
}

TrialLink::Order TrialLink::next_order(bool can_save) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (stop_ || ended_) return Order::stop;
    if (is_at_end_) return Order::end;
    if (pause_) return can_save ? Order::pause : Order::proceed;
    if (save_ && can_save) {
      save_ = false;
      return Order::save;
    }
    if (!must_wait()) return Order::proceed;
    ordered_.wait(lock);
  }
}

bool TrialLink::saves_at_stop() const {
  const std::lock_guard lock(mutex_);
  return saves_at_stop_;
}

bool TrialLink::is_stopped() const {
  const std::lock_guard lock(mutex_);
  return stop_;
}

bool TrialLink::has_ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

void TrialLink::push(engine::TrialReport report) {
  if (ended_) return;
  ended_ = std::holds_alternative<engine::Ended>(report);
  const bool is_checkpoint = std::holds_alternative<engine::CheckpointStored>(report);
  messages_.push_back({trial_, incarnation_, next_sequence_++, std::move(report)});
  if (is_checkpoint) checkpoints_end_ = next_sequence_;
  if (messages_.size() == 1 && wake_) wake_();
  if (ended_) wake_ = {};
}

void TrialLink::call_after_telling() const {
  if (after_telling_) after_telling_();
}

void TrialLink::wake_to_end() {
  ordered_.notify_all();
  acknowledged_changed_.notify_all();
}

bool TrialLink::must_wait() const { return last_result_ && horizon_.is_reached(*last_result_); }

}  // namespace tune::runtime
