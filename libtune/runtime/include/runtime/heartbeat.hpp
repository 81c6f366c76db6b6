#pragma once

#include <algorithm>
#include <chrono>

#include <caf/actor_clock.hpp>

namespace tune::runtime {

/// Decides when the other side of a connection has been silent for too long.
///
/// Its owner looks every interval(). One who has not looked for long was itself frozen, so that
/// what it did not hear says nothing of the other side: it gets another full time.
class Heartbeat {
 public:
  using Clock = caf::actor_clock;

  Heartbeat() = default;
  Heartbeat(std::chrono::duration<double> timeout, Clock::time_point now)
      : timeout_(std::chrono::duration_cast<Clock::duration_type>(
            std::min(timeout, std::chrono::duration<double>(std::chrono::hours(24 * 365))))),
        heard_(now),
        looked_(now) {}

  /// Time between two looks: a fifth of the time-out, two seconds at most.
  [[nodiscard]] Clock::duration_type interval() const {
    return std::min<Clock::duration_type>(timeout_ / 5, std::chrono::seconds(2));
  }
  void hear(Clock::time_point now) { heard_ = now; }
  /// True if it has been silent for longer than the time-out.
  [[nodiscard]] bool is_lost(Clock::time_point now) {
    const bool was_away = now - looked_ > interval() + timeout_ / 2;
    looked_ = now;
    if (was_away) heard_ = now;
    return now - heard_ > timeout_;
  }

 private:
  Clock::duration_type timeout_{0};
  Clock::time_point heard_;
  Clock::time_point looked_;
};

}  // namespace tune::runtime
