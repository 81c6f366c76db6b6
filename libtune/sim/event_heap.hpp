#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

namespace tune::sim {

/// What is due at which time; of the same time, in the order in which it was put there.
template <class What>
class EventHeap {
 public:
  struct Due {
    double time_s = 0;
    std::uint64_t order = 0;
    What what;
    friend bool operator<(const Due& a, const Due& b) {
      return std::pair(a.time_s, a.order) > std::pair(b.time_s, b.order);  // the earliest on top
    }
  };

  void put(double time_s, What what) { heap_.push({time_s, next_order_++, std::move(what)}); }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  [[nodiscard]] const Due& first() const { return heap_.top(); }
  Due take() {
    Due first = heap_.top();
    heap_.pop();
    return first;
  }

 private:
  std::priority_queue<Due> heap_;
  std::uint64_t next_order_ = 0;
};

}  // namespace tune::sim
