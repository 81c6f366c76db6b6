#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "cluster.hpp"

namespace tune::test {
namespace {

using Catch::Contains;

TEST_CASE("RS-01: a trial that is too big for all nodes waits until a bigger one joins",
          "[RS-01]") {
  Cluster cluster(/*samples=*/2, /*steps=*/3);
  const auto driver = cluster.start_driver({"--tune-cpus=1", "--tune-trial-cpus=2"});
  const auto small = cluster.start_node({}, 1);
  REQUIRE(cluster.wait_for_join(*small));
  // The sum of both would do, and no trial gets it.
  CHECK(cluster.rows(0).empty());
  const auto big = cluster.start_node({}, 2);
  CHECK(driver->read_line() == "2 of 2");
  CHECK(driver->wait() == 0);
  CHECK(small->wait() == 0);
  CHECK(big->wait() == 0);
  for (int trial = 0; trial < 2; ++trial) {
    CHECK(nodes_of(cluster.rows(trial)) == std::set<std::int64_t>{big->pid()});
  }
}

TEST_CASE("RS-04: a resource that only one node offers bounds what runs there", "[RS-04]") {
  Cluster cluster(4, 3);
  cluster.let_trials_reach(2);
  const auto driver = cluster.start_driver({"licence", "--tune-cpus=4"});
  const auto none = cluster.start_node({}, 4);
  REQUIRE(cluster.wait_for_join(*none));
  const auto owner = cluster.start_node({"--tune-resource=licence=2"}, 4);
  for (int trial = 0; trial < 2; ++trial) REQUIRE(cluster.wait_for_rows(trial, 2));
  // Two hold both licences, and stand still; nobody else may run.
  for (int trial = 2; trial < 4; ++trial) CHECK(cluster.rows(trial).empty());
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "4 of 4");
  CHECK(driver->wait() == 0);
  CHECK(none->wait() == 0);
  CHECK(owner->wait() == 0);
  for (int trial = 0; trial < 4; ++trial) {
    CHECK(nodes_of(cluster.rows(trial)) == std::set<std::int64_t>{owner->pid()});
  }
}

TEST_CASE("FA-11: no process outlives a node that is killed, nor does what runs there its driver",
          "[FA-11]") {
  Cluster cluster(2, 6);
  cluster.let_trials_reach(3);
  const auto driver = cluster.start_lone_driver({"children"});
  const auto node = cluster.start_node({}, 2);
  for (int trial = 0; trial < 2; ++trial) REQUIRE(cluster.wait_for_rows(trial, 3));
  // Driver, node, guardian, two workers, and what these have started.
  REQUIRE(cluster.processes().size() >= 7);
  const auto is_alone = [&](const ProgramRun& program) {
    return wait_until([&] { return cluster.processes() == std::vector<pid_t>{program.pid()}; });
  };
  SECTION("a node") {
    node->kill();
    CHECK(is_alone(*driver));
  }
  SECTION("a driver, since there is no grace") {
    driver->kill();
    (void)driver->wait();
    CHECK(is_alone(*node));  // it waits for another
  }
}

}  // namespace
}  // namespace tune::test
