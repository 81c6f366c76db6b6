#include "cluster.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace tune::test {
namespace {

using Catch::Contains;

TEST_CASE("a node that starts before its driver waits, joins, and ends with it", "[cluster]") {
  Cluster cluster(/*samples=*/3, /*steps=*/6);
  const auto node = cluster.start_node();
  REQUIRE(Cluster::wait_for(node->error_file(), "waits for a driver at " + cluster.address()));
  const auto driver = cluster.start_lone_driver();
  CHECK(driver->read_line() == "3 of 3");
  CHECK(driver->wait() == 0);
  CHECK(node->wait() == 0);
  CHECK(read_text(driver->error_file()).empty());
  CHECK_THAT(read_text(node->error_file()),
             Contains("joined experiment run with 1 cpu") && Contains("the experiment is over"));
  for (int trial = 0; trial < 3; ++trial) {
    CHECK(iterations(cluster.rows(trial)) == counted_to(6));
    CHECK(nodes_of(cluster.rows(trial)) == std::set<std::int64_t>{node->pid()});
  }
  CHECK(cluster.processes().empty());
  cluster.check_sound();
}

TEST_CASE("numbers keep their bits on their way from a node", "[cluster]") {
  Cluster cluster(1, 5);
  const auto driver = cluster.start_lone_driver();
  const auto node = cluster.start_node();
  REQUIRE(driver->wait() == 0);
  const ResultGrid results = ResultGrid::open(cluster.experiment());
  const std::vector<Result> history = results[0].history();
  REQUIRE(history.size() == 5);
  const auto loss = [&](std::size_t row) { return history[row].metrics.at("loss").as_double(); };
  CHECK(loss(0) == std::numeric_limits<double>::infinity());
  CHECK(loss(1) == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(loss(2)));
  CHECK((loss(3) == 0 && std::signbit(loss(3))));
  CHECK(loss(4) == std::numeric_limits<double>::denorm_min());
  CHECK(node->wait() == 0);
}

TEST_CASE("the driver's machine and nodes share the trials", "[cluster]") {
  Cluster cluster(4, 3);
  cluster.let_trials_reach(1);
  const auto driver = cluster.start_driver({"--tune-cpus=1"});
  const auto node = cluster.start_node({"--tune-resource=licence=1"}, 2);
  // Three slots hold three trials at once: one here, two there.
  for (int trial = 0; trial < 3; ++trial) REQUIRE(cluster.wait_for_rows(trial, 1));
  const auto late = cluster.start_node();
  REQUIRE(cluster.wait_for_rows(3, 1));
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "4 of 4");
  CHECK(driver->wait() == 0);
  CHECK(node->wait() == 0);
  CHECK(late->wait() == 0);
  std::map<std::int64_t, int> trials;
  for (int trial = 0; trial < 4; ++trial) ++trials[*nodes_of(cluster.rows(trial)).begin()];
  CHECK(trials ==
        std::map<std::int64_t, int>{{driver->pid(), 1}, {node->pid(), 2}, {late->pid(), 1}});
  CHECK_THAT(cluster.log(), Contains("has joined with 2 cpu"));
}

TEST_CASE("a node that is refused ends, and both sides say why", "[cluster]") {
  Cluster cluster(1, 3);
  const auto driver = cluster.start_lone_driver();
  const auto node = cluster.start_node({"--tune-name=another"});
  CHECK(node->wait() == 1);
  const std::string reason = "it is for experiment another, this is run";
  CHECK_THAT(read_text(node->error_file()), Contains("refused: " + reason));
  CHECK(cluster.wait_for_log(reason));
  const auto good = cluster.start_node({"--tune-name=run"});
  CHECK(driver->wait() == 0);
  CHECK(good->wait() == 0);
}

}  // namespace
}  // namespace tune::test
