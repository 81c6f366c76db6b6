#include "benchmarks/statistics.hpp"

#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/random.hpp>

namespace tune::bench {
namespace {

TEST_CASE("quantiles are interpolated linearly between the sorted values", "[benchmarks]") {
  CHECK(interpolated_quantile({3}, 0.25) == 3);
  CHECK(interpolated_quantile({4, 1, 3, 2}, 0.5) == 2.5);
  CHECK(interpolated_quantile({10, 20}, 0.25) == 12.5);
  CHECK(interpolated_quantile({1, 2, 3}, 1) == 3);
  const Quartiles five = quartiles({5, 1, 4, 2, 3});
  CHECK(five.lower == 2);
  CHECK(five.median == 3);
  CHECK(five.upper == 4);
  const Quartiles four = quartiles({1, 2, 4, 8});
  CHECK(four.lower == 1.75);
  CHECK(four.median == 3);
  CHECK(four.upper == 5);
}

TEST_CASE("quantiles of searches that found nothing are infinite", "[benchmarks]") {
  constexpr double none = std::numeric_limits<double>::infinity();
  CHECK(interpolated_quantile({none, none, none}, 0.5) == none);
  CHECK(interpolated_quantile({1, none, 2}, 0.5) == 2);
  CHECK(interpolated_quantile({1, 2, none, none}, 0.5) == none);
}

TEST_CASE("a bootstrap interval is the same for the same seed, and lies in the sample",
          "[benchmarks]") {
  std::vector<double> values;
  Random random(3);
  for (int i = 0; i < 40; ++i) values.push_back(random.uniform());
  const Interval first = bootstrap_median(values, 1);
  const Interval again = bootstrap_median(values, 1);
  CHECK(first.low == again.low);
  CHECK(first.high == again.high);
  const double median = interpolated_quantile(values, 0.5);
  CHECK(first.low < median);
  CHECK(median < first.high);
  const Interval constant = bootstrap_median({7, 7, 7});
  CHECK(constant.low == 7);
  CHECK(constant.high == 7);
}

TEST_CASE("95 % bootstrap intervals hold the true median about that often", "[benchmarks]") {
  int inside = 0;
  for (std::uint64_t sample = 0; sample < 300; ++sample) {
    Random random(sample, "sample");
    std::vector<double> values;
    for (int i = 0; i < 50; ++i) values.push_back(random.normal());
    const Interval interval = bootstrap_median(values, sample, 500);
    inside += static_cast<int>(interval.low <= 0 && 0 <= interval.high);
  }
  CHECK(inside > 300 * 0.91);
  CHECK(inside < 300 * 0.99);
}

TEST_CASE("the interval of a difference has its sign", "[benchmarks]") {
  std::vector<double> low;
  std::vector<double> high;
  Random random(5);
  for (int i = 0; i < 30; ++i) {
    low.push_back(random.uniform());
    high.push_back(10 + random.uniform());
  }
  const Interval up = bootstrap_difference(low, high);
  CHECK(up.low > 9);
  CHECK(up.high < 11);
  const Interval none = bootstrap_difference(low, low);
  CHECK(none.low < 0);
  CHECK(none.high > 0);
}

}  // namespace
}  // namespace tune::bench
