#pragma once

#include <chrono>

namespace tune::runtime {

/// Says which news of a trial goes by itself, and which in a batch: so many within a period go
/// alone, and those that come faster wait for each other.
class NewsPace {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr int max_single = 32;
  static constexpr std::chrono::milliseconds period{20};

  /// For news that comes at `now`; times do not go back.
  [[nodiscard]] bool goes_alone(Time now) {
    if (now - period_begin_ > period) {
      period_begin_ = now;
      single_ = 0;
    }
    return ++single_ <= max_single;
  }

 private:
  Time period_begin_ = {};
  int single_ = 0;  // since then
};

}  // namespace tune::runtime
