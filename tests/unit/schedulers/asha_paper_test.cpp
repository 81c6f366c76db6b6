// Replays what can be checked of Li et al., "A System for Massively Parallel Hyperparameter
// Tuning", MLSys 2020, against the stopping variant.

#include <cmath>
#include <cstddef>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/random.hpp>
#include <tune/schedulers/asha.hpp>

#include "support/scheduler_bench.hpp"

namespace tune {
namespace {

using test::SchedulerBench;

// Figure 1: n = 9, r = 1, R = 9, eta = 3. Rung i of bracket s has resource r_i = r eta^(s + i).
TEST_CASE("ASHA paper, section 3.1, figure 1: the resources of the rungs", "[asha]") {
  for (int s = 0; s <= 2; ++s) {
    CAPTURE(s);
    SchedulerBench bench(asha({.max_t = 9, .grace_period = std::pow(3, s), .reduction_factor = 3}),
                         Mode::min);
    bench.add(0);
    std::vector<double> resources;
    do {
      resources.push_back(bench.horizon(0));
    } while (bench.report(0, resources.back(), 1) == Decision::proceed && resources.size() < 10);
    const std::vector<double> figure = {1, 3, 9};
    CHECK(resources == std::vector<double>(figure.begin() + s, figure.end()));
  }
}

// Algorithm 2, get_job: top_k(rung k, |rung k| / eta); with figure 1's 9 and 3 trials these are 3
// and 1. A newcomer with that rank goes on, one of the next rank does not.
TEST_CASE("ASHA paper, section 3.2, algorithm 2: the top 1/eta of a rung goes on", "[asha]") {
  for (const double eta : {2.0, 3.0, 4.0}) {
    for (std::size_t n = 2; n <= 40; ++n) {
      CAPTURE(eta, n);
      const auto judge = [&](double newcomer) {
        SchedulerBench bench(asha({.max_t = 1000, .reduction_factor = eta}), Mode::min);
        for (std::size_t i = 1; i < n; ++i) bench.report(i, 1, static_cast<double>(i));
        return bench.report(n, 1, newcomer);
      };
      const auto top = static_cast<std::size_t>(static_cast<double>(n) / eta);
      const std::size_t k = top > 1 ? top : 1;
      // With k - 1 better ones it has rank k; with k better ones k + 1.
      CHECK(judge(static_cast<double>(k) - 0.5) == Decision::proceed);
      CHECK(judge(static_cast<double>(k) + 0.5) == Decision::stop);
    }
  }
}

// Section 3.3 argues by the law of large numbers that few configurations go on that the whole rung
// would not have promoted: of the order of sqrt(n).
TEST_CASE("ASHA paper, section 3.3: wrong promotions are of the order of sqrt(n)", "[asha]") {
  const int n = 9000;
  Random random(1, "asha paper");
  SchedulerBench bench(asha({.max_t = 81, .reduction_factor = 3}), Mode::min);
  int promoted = 0;
  int wrongly = 0;
  for (int id = 0; id < n; ++id) {
    const double loss = random.uniform();
    if (bench.report(id, 1, loss) == Decision::stop) continue;
    ++promoted;
    if (loss > 1.0 / 3) ++wrongly;
  }
  CHECK(std::abs(promoted - n / 3) < 3 * std::sqrt(n));
  CHECK(wrongly < 2 * std::sqrt(n));
}

}  // namespace
}  // namespace tune
