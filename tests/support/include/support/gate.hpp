#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

namespace tune::test {

/// A gate between a test and code on other threads: each wait() needs an open() of its own.
class Gate {
 public:
  void open(int times = 1) {
    const std::lock_guard lock(mutex_);
    open_ += times;
    changed_.notify_all();
  }
  /// @throws std::runtime_error after a deadline that only a fault reaches.
  void wait() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(20), [&] { return open_ > 0; })) {
      throw std::runtime_error("the gate was never opened");
    }
    --open_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int open_ = 0;
};

}  // namespace tune::test
