#include "benchmarks/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

#include <tune/random.hpp>

namespace tune::bench {
namespace {

double resampled_median(const std::vector<double>& values, Random& random) {
  std::vector<double> sample;
  sample.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    sample.push_back(values[random.below(values.size())]);
  }
  return interpolated_quantile(std::move(sample), 0.5);
}

Interval middle(int resamples, const std::function<double()>& draw) {
  std::vector<double> drawn;
  for (int i = 0; i < resamples; ++i) drawn.push_back(draw());
  return {interpolated_quantile(drawn, 0.025), interpolated_quantile(drawn, 0.975)};
}

}  // namespace

double interpolated_quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const double below = values.at(static_cast<std::size_t>(std::floor(place)));
  const double above = values.at(static_cast<std::size_t>(std::ceil(place)));
  // Equal ones first: between two infinities there is nothing to interpolate.
  return below == above ? below : below + (above - below) * (place - std::floor(place));
}

Quartiles quartiles(const std::vector<double>& values) {
  return {interpolated_quantile(values, 0.25), interpolated_quantile(values, 0.5),
          interpolated_quantile(values, 0.75)};
}

Interval bootstrap_median(const std::vector<double>& values, std::uint64_t seed, int resamples) {
  Random random(seed, "bootstrap");
  return middle(resamples, [&] { return resampled_median(values, random); });
}

Interval bootstrap_difference(const std::vector<double>& a, const std::vector<double>& b,
                              std::uint64_t seed, int resamples) {
  Random random(seed, "bootstrap");
  return middle(resamples, [&] {
    const double median_a = resampled_median(a, random);
    return resampled_median(b, random) - median_a;
  });
}

}  // namespace tune::bench
