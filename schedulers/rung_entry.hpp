#pragma once

#include <tune/ids.hpp>
#include <tune/mode.hpp>

namespace tune::schedulers {

/// A trial in a rung, with the value that it had when it got there.
struct RungEntry {
  double value = 0;
  TrialId trial;
};

/// The order of a rung: the better value first, of equal ones the lower id.
class EntryOrder {
 public:
  explicit EntryOrder(Mode mode) : mode_(mode) {}

  bool operator()(const RungEntry& a, const RungEntry& b) const {
    if (is_better(mode_, a.value, b.value)) return true;
    return !is_better(mode_, b.value, a.value) && a.trial < b.trial;
  }

 private:
  Mode mode_;
};

}  // namespace tune::schedulers
