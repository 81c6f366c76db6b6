#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tune::searchers {

/// The exponential function for a loop that the compiler can vectorise: the same bits on every
/// platform, relative error below 1e-10. Below -700 it is about 1e-304, above 700 about 1e304.
inline double fast_exp(double x) {
  constexpr double log2_e = 1.4426950408889634;
  constexpr double ln2_high = 6.93147180369123816490e-01;
  constexpr double ln2_low = 1.90821492927058770002e-10;
  constexpr double rounding = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
  x = x < -700 ? -700 : x;
  x = x > 700 ? 700 : x;
  const double shifted = x * log2_e + rounding;
  const double power = shifted - rounding;
  const double r = (x - power * ln2_high) - power * ln2_low;  // within ln(2)/2 of 0
  double sum = 1.0 / 3628800;
  sum = sum * r + 1.0 / 362880;
  sum = sum * r + 1.0 / 40320;
  sum = sum * r + 1.0 / 5040;
  sum = sum * r + 1.0 / 720;
  sum = sum * r + 1.0 / 120;
  sum = sum * r + 1.0 / 24;
  sum = sum * r + 1.0 / 6;
  sum = sum * r + 0.5;
  sum = sum * r + 1;
  sum = sum * r + 1;
  const std::uint64_t exponent = (std::bit_cast<std::uint64_t>(shifted) << 52);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(sum) + exponent);
}

/// The largest value. @pre there is one
inline double largest_of(std::span<const double> values) {
  double largest[4] = {values[0], values[0], values[0], values[0]};
  std::size_t i = 0;
  for (; i + 4 <= values.size(); i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      largest[lane] = largest[lane] < values[i + lane] ? values[i + lane] : largest[lane];
    }
  }
  for (; i < values.size(); ++i) {
    largest[0] = largest[0] < values[i] ? values[i] : largest[0];
  }
  return std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3]));
}

/// The sum of the exponentials of (each of `values`, which change, less `shift`), in a fixed order.
inline double sum_of_exps(std::span<double> values, double shift) {
  for (double& value : values) value = fast_exp(value - shift);
  double sums[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= values.size(); i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += values[i + lane];
  }
  for (; i < values.size(); ++i) sums[0] += values[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace tune::searchers
