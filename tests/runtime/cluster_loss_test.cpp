#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "cluster.hpp"

namespace tune::test {
namespace {

using Catch::Contains;

TEST_CASE("FA-12: the trial of a node that is killed goes on elsewhere", "[FA-12]") {
  Cluster cluster(/*samples=*/1, /*steps=*/12);
  cluster.let_trials_reach(8);
  const auto driver = cluster.start_lone_driver();
  const auto b = cluster.start_node();
  REQUIRE(cluster.wait_for_rows(0, 8));
  const auto a = cluster.start_node();
  REQUIRE(cluster.wait_for_join(*a));
  b->kill();
  REQUIRE(cluster.wait_for_log("process " + std::to_string(b->pid()) + ") is lost"));
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "1 of 1");  // max_failures is 0: the loss is no failure
  CHECK(driver->wait() == 0);
  CHECK(a->wait() == 0);
  CHECK(iterations(cluster.rows(0)) == counted_to(12));
  CHECK(cluster.rows(0).back().at("pid") == a->pid());
  // FA-11: nothing of the node outlives it.
  CHECK(wait_until([&] { return cluster.processes().empty(); }));
  cluster.check_sound();
}

TEST_CASE("a node that was frozen is fenced, and then welcome again", "[cluster]") {
  Cluster cluster(1, 12);
  cluster.let_trials_reach(3);
  const auto driver = cluster.start_lone_driver({"--tune-node-timeout=2"});
  const auto frozen = cluster.start_node();
  REQUIRE(cluster.wait_for_rows(0, 3));
  const auto other = cluster.start_node();
  REQUIRE(cluster.wait_for_join(*other));
  const std::string process = "process " + std::to_string(frozen->pid()) + ")";
  ::kill(frozen->pid(), SIGSTOP);
  REQUIRE(cluster.wait_for_log(process + " is lost"));
  cluster.let_trials_reach(8);  // its worker goes on, too, and nobody hears of it
  REQUIRE(cluster.wait_for_rows(0, 8));
  ::kill(frozen->pid(), SIGCONT);
  REQUIRE(wait_until([&] {
    const std::string log = cluster.log();
    const std::size_t first = log.find(process + " has joined");
    return first != std::string::npos &&
           log.find(process + " has joined", first + 1) != std::string::npos;
  }));
  CHECK_THAT(read_text(frozen->error_file()), Contains("the driver has given this node up"));
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "1 of 1");
  CHECK(driver->wait() == 0);
  CHECK(frozen->wait() == 0);
  CHECK(other->wait() == 0);
  CHECK(iterations(cluster.rows(0)) == counted_to(12));
  CHECK_THAT(cluster.log(),
             Contains("process " + std::to_string(frozen->pid()) + ", was back after it was lost"));
  cluster.check_sound();
}

TEST_CASE("nodes outlive a driver that is killed, and serve the next one", "[cluster]") {
  Cluster cluster(2, 6);
  cluster.let_trials_reach(3);
  const auto first = cluster.start_lone_driver();
  const auto node = cluster.start_node();
  REQUIRE(cluster.wait_for_rows(0, 3));
  first->kill();
  (void)first->wait();
  REQUIRE(Cluster::wait_for(node->error_file(), "the connection to the driver broke"));
  cluster.let_trials_reach(100);
  const auto second = cluster.start_lone_driver();
  CHECK(second->read_line() == "2 of 2");
  CHECK(second->wait() == 0);
  CHECK(node->wait() == 0);
  CHECK(iterations(cluster.rows(0)) == counted_to(6));
  CHECK(iterations(cluster.rows(1)) == counted_to(6));
  cluster.check_sound();
}

TEST_CASE("driver and nodes are killed again and again, and nothing is lost or there twice",
          "[cluster]") {
  constexpr int rounds = 6;
  constexpr int steps = 2 * rounds + 2;
  Cluster cluster(/*samples=*/2, steps);
  cluster.let_trials_reach(0);
  auto driver = cluster.start_lone_driver();
  std::unique_ptr<ProgramRun> nodes[] = {cluster.start_node(), cluster.start_node()};
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    cluster.let_trials_reach(2 * round + 2);
    for (int trial = 0; trial < 2; ++trial) {
      REQUIRE(cluster.wait_for_rows(trial, static_cast<std::size_t>(2 * round + 2)));
    }
    if (round % 3 == 1) {
      driver->kill();
      (void)driver->wait();
      driver = cluster.start_lone_driver();
    } else {
      auto& node = nodes[round % 2];
      node->kill();
      node = cluster.start_node();
      // One that comes when all is over waits for another driver.
      REQUIRE(Cluster::wait_for(node->error_file(), "joined experiment"));
    }
  }
  cluster.let_trials_reach(1000);
  CHECK(driver->read_line() == "2 of 2");
  CHECK(driver->wait() == 0);
  for (const auto& node : nodes) CHECK(node->wait() == 0);
  for (int trial = 0; trial < 2; ++trial) {
    CHECK(iterations(cluster.rows(trial)) == counted_to(steps));
  }
  CHECK(wait_until([&] { return cluster.processes().empty(); }));
  cluster.check_sound();
}

}  // namespace
}  // namespace tune::test
