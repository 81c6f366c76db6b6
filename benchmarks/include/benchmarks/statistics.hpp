#pragma once

#include <cstdint>
#include <vector>

namespace tune::bench {

struct Interval {
  double low = 0;
  double high = 0;
};

/// The middle of a sample.
struct Quartiles {
  double lower = 0;
  double median = 0;
  double upper = 0;
};

/// The value at `share` of the sorted sample, by linear interpolation between its neighbours (type
/// 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996: what NumPy does).
/// @pre not empty, no NaN, 0 <= share <= 1
[[nodiscard]] double interpolated_quantile(std::vector<double> values, double share);
[[nodiscard]] Quartiles quartiles(const std::vector<double>& values);

/// The middle 95 % of the medians of `resamples` samples drawn from `values` with replacement
/// (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, section 13.3). The same values
/// and seed give the same interval. @pre as interpolated_quantile()
[[nodiscard]] Interval bootstrap_median(const std::vector<double>& values, std::uint64_t seed = 1,
                                        int resamples = 4000);
/// The same of median(b) - median(a), the two drawn on their own.
[[nodiscard]] Interval bootstrap_difference(const std::vector<double>& a,
                                            const std::vector<double>& b, std::uint64_t seed = 1,
                                            int resamples = 4000);

}  // namespace tune::bench
