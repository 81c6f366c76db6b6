#include "core/quantised_steps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tune::core {
namespace {

// From here on neighbouring whole numbers are one double.
constexpr double most_steps = 0x1p53;
// What division and the reading of decimals may have added, relative to the quotient.
constexpr double rounding_noise = 8 * std::numeric_limits<double>::epsilon();

struct Fraction {
  double numerator;
  double denominator;
};

// q as a fraction of whole numbers, so that k * q is rounded once; q itself if there is none.
Fraction as_fraction(double q) {
  const double inverse = std::round(1 / q);
  if (q < 1 && inverse <= most_steps && 1 / inverse == q) return {1, inverse};
  double power_of_ten = 1;
  for (int decimals = 0; decimals <= 15; ++decimals, power_of_ten *= 10) {
    const double numerator = std::round(q * power_of_ten);
    if (numerator > most_steps) break;
    if (numerator / power_of_ten == q) return {numerator, power_of_ten};
  }
  return {q, 1};
}

// The whole number that `ratio` is but for noise, else `ratio`.
double without_noise(double ratio) {
  const double nearest = std::round(ratio);
  return std::abs(ratio - nearest) <= rounding_noise * std::abs(ratio) ? nearest : ratio;
}

}  // namespace

QuantisedSteps::QuantisedSteps(double low, double high, double q)
    : low_(low),
      high_(high),
      first_(std::ceil(without_noise(low / q))),
      last_(std::floor(without_noise(high / q))) {
  const Fraction fraction = as_fraction(q);
  numerator_ = fraction.numerator;
  denominator_ = fraction.denominator;
}

bool QuantisedSteps::are_too_many() const {
  return !(std::abs(first_) <= most_steps && std::abs(last_) <= most_steps);
}

std::uint64_t QuantisedSteps::count() const {
  return first_ > last_ ? 0 : static_cast<std::uint64_t>(last_ - first_) + 1;
}

double QuantisedSteps::value(double k) const {
  return std::clamp(k * numerator_ / denominator_, low_, high_) + 0.0;  // -0.0 + 0.0 is 0.0
}

double multiple_of(double k, double q) {
  const Fraction fraction = as_fraction(q);
  return k * fraction.numerator / fraction.denominator + 0.0;
}

double step_of(double value, double q) {
  const double ratio = value / q;
  if (std::abs(ratio) >= most_steps) return ratio;  // all doubles of this size are multiples
  const double nearest = std::round(ratio);
  const double noise = rounding_noise * std::max(1.0, std::abs(ratio));
  return std::abs(ratio - nearest) <= noise ? nearest : std::numeric_limits<double>::quiet_NaN();
}

std::int64_t first_multiple(std::int64_t low, std::int64_t q) {
  return low / q + (low % q > 0 ? 1 : 0);
}

std::int64_t last_multiple(std::int64_t high, std::int64_t q) {
  return high / q - (high % q < 0 ? 1 : 0);
}

}  // namespace tune::core
