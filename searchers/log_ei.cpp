#include "searchers/log_ei.hpp"

#include <cmath>
#include <numbers>

namespace tune::searchers {
namespace {

constexpr double log_sqrt_2pi = 0.918938533204672741780329736406;

// With Mills' ratio R(x) = 1 / (x + c): c = 1 / (x + 2 / (x + 3 / (x + ...))).
double mills_remainder(double x) {
  const int terms = x > 8 ? 20 : x > 3 ? 50 : 150;
  double fraction = x;
  for (int k = terms; k > 1; --k) fraction = x + k / fraction;
  return 1 / fraction;
}

}  // namespace

LogImprovement log_improvement(double z) {
  if (z > -1.5) {
    const double density = std::exp(-0.5 * z * z - log_sqrt_2pi);
    const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
    const double h = density + z * below;
    return {.value = std::log(h), .slope = below / h};
  }
  // h = phi (1 - x R(x)) with x = -z, and 1 - x R(x) = c / (x + c).
  const double x = -z;
  const double c = mills_remainder(x);
  return {.value = -0.5 * z * z - log_sqrt_2pi + std::log(c / (x + c)), .slope = 1 / c};
}

}  // namespace tune::searchers
