#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tune/result.hpp>

namespace tune::engine {

/// True if `result` has a finite value of `field` at or above `bound`, or (`below`) at or below it.
/// The one judgement of those who stop a trial and of the trial that waits for it.
[[nodiscard]] bool meets_bound(const Result& result, std::string_view field, double bound,
                               bool below);

/// Until when a trial may run on without waiting for a decision.
///
/// The trial waits after a result that reaches its horizon, as long as that result reaches it: a
/// Proceed brings a new horizon, against which the trial looks at its last result again. So a
/// Proceed may come at any time and never overtakes a decision. Empty: it never waits.
///
/// Where the decision is known the trial need not wait either: at a bound that ends it.
struct Horizon {
  struct Bound {
    std::string field;
    double value = 0;
    bool below = false;  ///< Reached at or below `value` instead of at or above.
    bool ends = false;   ///< Whatever else is decided on such a result, the trial is to stop.
    friend bool operator==(const Bound&, const Bound&) = default;
  };
  bool every_result = false;
  std::vector<Bound> bounds;
  /// Results up to this iteration were decided before; none of them reaches the horizon.
  std::int64_t decided_until = 0;
  /// Fields that the first result beyond those must have as numbers, or it reaches the horizon:
  /// whoever misses one of them may want the trial to end.
  std::vector<std::string> first_needs = {};

  /// True if the trial must wait after `result`. A result that ends the trial itself is not asked.
  [[nodiscard]] bool is_reached(const Result& result) const;
  /// True if the trial may end as stopped after `result`, without being told, unless it has
  /// reported that iteration before.
  [[nodiscard]] bool is_end(const Result& result) const;
  friend bool operator==(const Horizon&, const Horizon&) = default;
};

}  // namespace tune::engine
