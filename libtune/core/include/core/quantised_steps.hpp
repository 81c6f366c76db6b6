#pragma once

#include <cstdint>

namespace tune::core {

/// The multiples k * q inside [low, high], numbered by k.
///
/// Bounds that are multiples themselves but for a few last bits, like 0.3 for q = 0.1, count as
/// inside; a value never lies outside [low, high].
class QuantisedSteps {
 public:
  /// @pre finite bounds, `q > 0`
  QuantisedSteps(double low, double high, double q);

  /// True if doubles cannot tell all the steps apart; nothing else may be asked then.
  [[nodiscard]] bool are_too_many() const;
  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] double first() const { return first_; }  ///< The smallest k, a whole number.
  [[nodiscard]] double last() const { return last_; }
  /// k * q, rounded once where q is a decimal or one over a whole number: 3 steps of 0.1 are 0.3,
  /// not 0.30000000000000004. Never -0.
  [[nodiscard]] double value(double k) const;

 private:
  double low_;
  double high_;
  double first_ = 0;
  double last_ = 0;
  double numerator_ = 1;  // q is numerator_ / denominator_
  double denominator_ = 1;
};

/// k * q as QuantisedSteps has it, without bounds.
[[nodiscard]] double multiple_of(double k, double q);
/// The k of a value that is a multiple of q but for a few last bits; NaN if it is none. Infinite if
/// there are too many steps for a double.
[[nodiscard]] double step_of(double value, double q);

// The same for integers: the smallest k with k * q >= low, the largest with k * q <= high.
[[nodiscard]] std::int64_t first_multiple(std::int64_t low, std::int64_t q);
[[nodiscard]] std::int64_t last_multiple(std::int64_t high, std::int64_t q);

}  // namespace tune::core
