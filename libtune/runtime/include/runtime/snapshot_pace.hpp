#pragma once

#include <algorithm>
#include <cstdint>

#include <tune/json.hpp>

#include "store/journal.hpp"

namespace tune::runtime {

/// When a snapshot of a state is due: once there are more events since the last one than it had
/// entries. So what snapshots cost stays in proportion to the events, and so does what a resume has
/// to go through again.
class SnapshotPace {
 public:
  /// As if there had been one after `last`.
  explicit SnapshotPace(store::EventNumber last = 0) : last_(last) {}

  [[nodiscard]] bool is_due(store::EventNumber event) const {
    return is_on_ && event - last_ >= std::max<std::int64_t>(entries_, fewest_events);
  }
  void note_asked(store::EventNumber event) { last_ = event; }
  void note_taken(const Json& state) { entries_ = entries(state); }
  void switch_off() { is_on_ = false; }

 private:
  static constexpr std::int64_t fewest_events = 1000;

  [[nodiscard]] static std::int64_t entries(const Json& state) {
    std::int64_t sum = 1;
    if (state.is_structured()) {
      for (const Json& element : state) sum += entries(element);
    }
    return sum;
  }

  store::EventNumber last_;
  std::int64_t entries_ = 0;
  bool is_on_ = true;
};

}  // namespace tune::runtime
