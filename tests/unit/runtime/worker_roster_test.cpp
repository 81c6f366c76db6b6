#include "runtime/worker_roster.hpp"

#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

#include <tune/random.hpp>

#include "runtime/grant_environment.hpp"
#include "support/seed.hpp"

namespace tune::runtime {
namespace {

using Ids = std::vector<std::uint64_t>;
using Cores = std::vector<int>;

ResourceGrant grant_for(double cpu, std::uint64_t memory = 0, std::vector<int> gpu_ids = {},
                        double gpu = 1) {
  const double gpus = gpu_ids.empty() ? 0 : gpu;
  return {.amounts = ResourceAmounts(Resources{.cpu = cpu, .gpu = gpus, .memory = memory}),
          .gpu_ids = std::move(gpu_ids)};
}

std::string threads(const WorkerRoster& roster, std::uint64_t worker) {
  return environment_value(roster.bounds(worker).environment, "OMP_NUM_THREADS").value_or("");
}

TEST_CASE("a worker is bound to its grant", "[worker_roster]") {
  WorkerRoster roster({0, 1, 2}, {});
  const WorkerRoster::Choice two = roster.assign(grant_for(2, 1U << 20U));
  CHECK(two.is_new);
  CHECK(roster.bounds(two.worker).cores == Cores{0, 1});
  CHECK(roster.bounds(two.worker).memory == 1U << 20U);
  CHECK(threads(roster, two.worker) == "2");
  const WorkerRoster::Choice half = roster.assign(grant_for(0.5));
  CHECK(roster.bounds(half.worker).cores == Cores{2});
  CHECK(roster.bounds(half.worker).memory == 0);
  CHECK(threads(roster, half.worker) == "1");
  CHECK(roster.cores().free(2) == 500);
}

TEST_CASE("equal grants need no more workers than run at a time", "[worker_roster]") {
  WorkerRoster roster({0, 1}, {});
  std::set<std::uint64_t> used;
  Ids running;
  Random random(test::test_seed(1), "worker_roster");
  for (int trial = 0; trial < 1000; ++trial) {
    running.push_back(roster.assign(grant_for(0.5)).worker);
    used.insert(running.back());
    while (running.size() == 4 || (!running.empty() && random.next() % 2 == 0)) {
      const auto ended =
          running.begin() + static_cast<std::ptrdiff_t>(random.below(running.size()));
      roster.on_free(*ended);
      running.erase(ended);
    }
  }
  CHECK(used.size() <= 4);
}

TEST_CASE("who wants other bounds gets another worker, in place of one that is free",
          "[worker_roster]") {
  WorkerRoster roster({0, 1}, {});
  const std::uint64_t first = roster.assign(grant_for(1)).worker;
  const ResourceGrant other = GENERATE(grant_for(2), grant_for(0.5, 1), grant_for(1, 0, {0}));
  roster.on_free(first);
  const WorkerRoster::Choice choice = roster.assign(other);
  CHECK(choice.is_new);
  CHECK(choice.ends == Ids{first});
  CHECK(choice.waits_for == Ids{first});
  CHECK(roster.retire_free().empty());
}

TEST_CASE("a worker serves nobody who has to run on other cores", "[worker_roster]") {
  WorkerRoster roster({0, 1}, {});
  const std::uint64_t left = roster.assign(grant_for(0.5)).worker;
  const std::uint64_t right = roster.assign(grant_for(0.6)).worker;
  roster.on_free(left);
  CHECK(roster.assign(grant_for(0.3)).worker == left);  // only its share is another
  roster.on_free(left);
  roster.on_free(right);
  CHECK(roster.assign(grant_for(2)).ends == Ids{left});
  const WorkerRoster::Choice third = roster.assign(grant_for(0.6));  // beside what there is
  CHECK(third.is_new);
  CHECK(third.ends == Ids{right});
  CHECK(roster.bounds(third.worker).cores.empty());
}

TEST_CASE("a device goes from one process to the next once that is gone", "[worker_roster]") {
  WorkerRoster roster({0, 1, 2}, {});
  const std::uint64_t holder = roster.assign(grant_for(1, 0, {1})).worker;
  const std::uint64_t bystander = roster.assign(grant_for(1)).worker;
  roster.on_free(bystander);
  roster.on_free(holder);
  const WorkerRoster::Choice heir = roster.assign(grant_for(2, 0, {0, 1}, 2));
  CHECK(heir.ends == Ids{holder});
  CHECK(heir.waits_for == Ids{holder});
  // It ends already, and has the device still.
  const WorkerRoster::Choice late = roster.assign(grant_for(0.5, 0, {1}, 0.5));
  CHECK(late.ends == Ids{bystander});
  CHECK(late.waits_for == Ids{holder, bystander});
  roster.on_gone(holder);
  roster.on_gone(bystander);
}

TEST_CASE("cores come back exactly, from those that are free and those that are gone",
          "[worker_roster]") {
  const std::uint64_t seed = test::test_seed(1);
  INFO("TUNE_TEST_SEED=" << seed);
  Random random(seed, "worker_roster");
  WorkerRoster roster({0, 1, 2, 3}, {});
  Ids running;
  Ids ending;
  for (int step = 0; step < 2000; ++step) {
    if (running.size() < 8 && random.below(2) == 0) {
      const double cpu = static_cast<double>(random.below(2001)) / 1000;
      const WorkerRoster::Choice choice = roster.assign(grant_for(cpu));
      running.push_back(choice.worker);
      ending.insert(ending.end(), choice.ends.begin(), choice.ends.end());
    } else if (!running.empty()) {
      const auto ended =
          running.begin() + static_cast<std::ptrdiff_t>(random.below(running.size()));
      random.below(2) == 0 ? roster.on_free(*ended) : roster.on_gone(*ended);
      running.erase(ended);
    } else if (!ending.empty()) {
      roster.on_gone(ending.back());
      ending.pop_back();
    }
    REQUIRE(roster.cores().free() >= 0);
  }
  for (const std::uint64_t worker : running) roster.on_gone(worker);
  for (const int core : {0, 1, 2, 3}) CHECK(roster.cores().free(core) == 1000);
}

TEST_CASE("a machine that offers more than it has divides no cores", "[worker_roster]") {
  const std::vector<int> all = cores_to_divide(ResourceAmounts(LocalResources{.cpus = 0.5}));
  CHECK_FALSE(all.empty());
  const auto more = static_cast<double>(all.size()) + 0.5;
  CHECK(cores_to_divide(ResourceAmounts(LocalResources{.cpus = more})).empty());
  WorkerRoster roster({}, {});
  CHECK(roster.bounds(roster.assign(grant_for(1)).worker).cores.empty());
}

}  // namespace
}  // namespace tune::runtime
