#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>

namespace tune::test {

/// The largest difference between `gradient` and the central finite differences of `function` over
/// `values`, relative to the larger of the two (or to 1e-4, for those near 0).
///
/// With doubles and this step the truncation and rounding errors are each below about 1e-9.
[[nodiscard]] inline double gradient_error(std::span<double> values,
                                           std::span<const double> gradient,
                                           const std::function<double()>& function) {
  constexpr double step = 1e-5;
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    values[i] = value + step;
    const double above = function();
    values[i] = value - step;
    const double below = function();
    values[i] = value;
    const double numeric = (above - below) / (2 * step);
    const double scale = std::max({std::abs(numeric), std::abs(gradient[i]), 1e-4});
    worst = std::max(worst, std::abs(numeric - gradient[i]) / scale);
  }
  return worst;
}

}  // namespace tune::test
