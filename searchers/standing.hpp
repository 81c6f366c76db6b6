#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include <tune/json.hpp>
#include <tune/result.hpp>

namespace tune::searchers {

/// Where an ended trial stands among others, for searchers that rank whole trials: the lower the
/// better. Those that completed by their loss; those that the scheduler stopped behind them, the
/// later the better; then values that are not finite; then failures.
struct Standing {
  enum class Kind { has_loss, not_finite, failed };
  Kind kind = Kind::has_loss;
  /// Of a trial that the scheduler stopped, below zero, so that the later ones are lower.
  std::int64_t stopped_at = std::numeric_limits<std::int64_t>::min();
  double loss = 0;  ///< 0 if it has none.

  friend auto operator<=>(const Standing&, const Standing&) = default;

  [[nodiscard]] Json save() const;
  void restore(const Json& state);
};

/// Of a trial that ended with `last`, not as a failure; `sign` is 1 if low targets are good, else
/// -1. @pre it has a result
[[nodiscard]] Standing standing_of(const Result& last, double sign);

}  // namespace tune::searchers
