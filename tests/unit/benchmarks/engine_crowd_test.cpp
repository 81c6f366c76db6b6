#include "benchmarks/engine_crowd.hpp"

#include <memory>

#include <catch2/catch.hpp>

#include <tune/schedulers/asha.hpp>
#include <tune/schedulers/fifo.hpp>
#include <tune/schedulers/median_stopping.hpp>
#include <tune/schedulers/pbt.hpp>

namespace tune::bench {
namespace {

/// How often trials were started in a crowd of ten, with 1,000 results.
std::int64_t starts_under(std::unique_ptr<TrialScheduler> scheduler,
                          Newcomers newcomers = Newcomers::come) {
  EngineCrowd crowd(std::move(scheduler), 10, newcomers);
  for (int i = 0; i < 1000; ++i) crowd.step();
  return crowd.starts();
}

TEST_CASE("a crowd under FIFO stays as it is", "[engine_crowd]") {
  CHECK(starts_under(fifo()) == 10);
}

TEST_CASE("a crowd under ASHA makes room for new trials at the milestones", "[engine_crowd]") {
  // All are stopped at 100 results at the latest, and most of them at 10.
  const std::int64_t starts = starts_under(asha({.max_t = 100, .grace_period = 10}));
  CHECK(starts > 20);
  CHECK(starts < 100);
}

TEST_CASE("a crowd under the median rule makes room for new trials", "[engine_crowd]") {
  const std::int64_t starts =
      starts_under(median_stopping({.time_attr = "training_iteration", .grace_period = 10}));
  CHECK(starts > 15);
  CHECK(starts < 110);
}

TEST_CASE("the losers of a crowd under PBT go on as clones", "[engine_crowd]") {
  // At most the lowest quarter of those that come to the end of an interval, a hundred times.
  const std::int64_t starts = starts_under(pbt({.time_attr = "training_iteration",
                                                .perturbation_interval = 10,
                                                .hyperparam_mutations = {{"x", uniform(0, 1)}}}),
                                           Newcomers::none);
  CHECK(starts > 15);
  CHECK(starts < 50);
}

}  // namespace
}  // namespace tune::bench
