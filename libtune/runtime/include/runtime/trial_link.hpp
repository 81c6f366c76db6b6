#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tune/ids.hpp>
#include <tune/result.hpp>

#include "engine/events.hpp"
#include "engine/horizon.hpp"

namespace tune::runtime {

/// Where the thread that runs one start of a trial and the one who watches over it meet.
///
/// The runner tells what happens and waits for decisions; the watcher takes the reports and gives
/// orders. Either side may be gone: the link is shared, and knows nothing of actors. Safe from any
/// thread.
class TrialLink {
 public:
  struct Options {
    TrialId trial;
    std::uint32_t incarnation = 0;
    engine::Horizon horizon;
    /// So many messages may be on their way and not yet acknowledged; then report() waits.
    std::uint64_t max_unacknowledged = 256;
    /// Called by the runner after it has told something, on its thread and without the lock.
    std::function<void()> after_telling = {};
  };
  /// `wake` is called when there is something to take() after there was nothing, and when the trial
  /// is_ending(), from the runner's thread and under the link's lock: it must be quick and must not
  /// call back.
  explicit TrialLink(Options options, std::function<void()> wake = {});

  // The watcher's side.

  void proceed(engine::Horizon horizon);
  void save();
  void pause();
  /// `save`: store a checkpoint before the end.
  void stop(bool save);
  /// All messages with a sequence below `count` have reached their end.
  void acknowledge(std::uint64_t count);
  /// What was told since the last call, in order.
  [[nodiscard]] std::vector<engine::TrialMessage> take();
  /// The trial said that it ends.
  [[nodiscard]] bool is_ending() const;
  /// Ends the trial in the runner's stead, with a last message of kind `abandoned`, unless it has
  /// ended. Nothing that the runner tells from then on is heard, and `wake` is gone.
  void abandon(std::string message);

  // The runner's side.

  /// Never waits. Nothing is told after Ended.
  void tell(engine::TrialReport report);
  /// From now on the trial has to end within its grace, though nobody ordered it: it has said
  /// itself that it ends, and what is left of it is cleaning up.
  void announce_end();
  /// Tells a result; first waits until enough messages are acknowledged.
  void report(Result result);
  /// Tells something else once at most `on_their_way` messages are not acknowledged, and no more
  /// than results may be.
  void tell_in_turn(engine::TrialReport report, std::uint64_t on_their_way);
  /// Waits until the last checkpoint that was told is acknowledged, or the trial is to end.
  void wait_for_checkpoint();

  enum class Order {
    proceed,  ///< Train on.
    save,     ///< Store a checkpoint, and ask again.
    pause,    ///< Store a checkpoint, if there is none of this iteration, and end as paused.
    end,      ///< The last result ends the trial, as will be decided: end as stopped.
    stop,     ///< End as stopped.
  };
  /// What to do at a step boundary; waits as long as the last result reaches the horizon.
  /// `can_save` is false where a train function offers no writer: orders that need one are then
  /// left for later, and the trial goes on to where it does.
  [[nodiscard]] Order next_order(bool can_save);
  [[nodiscard]] bool saves_at_stop() const;
  /// It was told to stop.
  [[nodiscard]] bool is_stopped() const;
  /// The trial has ended, by its runner or in its stead.
  [[nodiscard]] bool has_ended() const;
  /// Set once the trial is to stop or pause.
  [[nodiscard]] std::shared_ptr<const std::atomic<bool>> stop_flag() const { return stop_flag_; }

 private:
  void push(engine::TrialReport report);
  void wait_for_room(std::unique_lock<std::mutex>& lock, std::uint64_t on_their_way);
  void call_after_telling() const;
  [[nodiscard]] bool must_wait() const;
  void wake_to_end();

  const TrialId trial_;
  const std::uint32_t incarnation_;
  const std::uint64_t max_unacknowledged_;
  const std::shared_ptr<std::atomic<bool>> stop_flag_;  // shared with the training code

  mutable std::mutex mutex_;                      // guards all below
  std::condition_variable ordered_;               // there is an order, or another horizon
  std::condition_variable acknowledged_changed_;  // or an order to end
  std::function<void()> wake_;
  const std::function<void()> after_telling_;
  std::vector<engine::TrialMessage> messages_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t checkpoints_end_ = 0;  // behind the last checkpoint
  engine::Horizon horizon_;
  std::optional<Result> last_result_;  // set if it reached the horizon when it was told
  std::int64_t reported_until_ = 0;    // the largest iteration
  bool is_at_end_ = false;             // the last result ends the trial
  bool save_ = false;
  bool pause_ = false;
  bool stop_ = false;
  bool saves_at_stop_ = false;
  bool is_ending_ = false;
  bool ended_ = false;
};

}  // namespace tune::runtime
