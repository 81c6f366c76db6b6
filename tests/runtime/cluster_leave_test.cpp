#include <algorithm>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "cluster.hpp"

namespace tune::test {
namespace {

using Catch::Contains;

/// By which process each row was reported.
std::vector<std::int64_t> reporters(const std::vector<Json>& rows) {
  std::vector<std::int64_t> reporters;
  for (const Json& row : rows) reporters.push_back(row.at("pid"));
  return reporters;
}

TEST_CASE("a node that is told to end has its trials save, and they go on elsewhere", "[cluster]") {
  const int signal = GENERATE(SIGTERM, SIGINT);
  Cluster cluster(/*samples=*/1, /*steps=*/7);
  cluster.let_trials_reach(3);
  const auto driver = cluster.start_lone_driver({"rarely"});
  const auto leaver = cluster.start_node();
  REQUIRE(cluster.wait_for_rows(0, 3));
  ::kill(leaver->pid(), signal);
  CHECK(leaver->wait() == 128 + signal);
  REQUIRE(cluster.wait_for_log("is lost: it got SIG"));
  CHECK_THAT(cluster.log(), Contains("its trials save first"));
  const auto other = cluster.start_node();
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "1 of 1");
  CHECK(driver->wait() == 0);
  CHECK(other->wait() == 0);
  CHECK(iterations(cluster.rows(0)) == counted_to(7));
  // The step that ran when the signal came was its last there, and no step was made twice.
  const std::int64_t a = leaver->pid();
  const std::int64_t b = other->pid();
  CHECK(reporters(cluster.rows(0)) == std::vector<std::int64_t>{a, a, a, a, b, b, b});
  CHECK(wait_until([&] { return cluster.processes().empty(); }));
  cluster.check_sound();
}

TEST_CASE("a node of which all processes are told to end at once has its trials save",
          "[cluster]") {
  Cluster cluster(2, 7);
  cluster.let_trials_reach(3);
  const auto driver = cluster.start_lone_driver({"rarely"});
  // What descends from it is told by its environment, and the driver is none of it.
  const std::vector<pid_t> others = cluster.processes();
  REQUIRE(others == std::vector<pid_t>{driver->pid()});
  const auto leaver = cluster.start_node({}, 2);
  for (int trial = 0; trial < 2; ++trial) REQUIRE(cluster.wait_for_rows(trial, 3));
  for (const pid_t pid : cluster.processes()) {
    if (std::find(others.begin(), others.end(), pid) == others.end()) ::kill(pid, SIGTERM);
  }
  CHECK(leaver->wait() == 128 + SIGTERM);
  REQUIRE(cluster.wait_for_log("is lost: it got SIGTERM"));
  const auto other = cluster.start_node();
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "2 of 2");
  CHECK(driver->wait() == 0);
  CHECK(other->wait() == 0);
  const std::int64_t a = leaver->pid();
  const std::int64_t b = other->pid();
  for (int trial = 0; trial < 2; ++trial) {
    CHECK(iterations(cluster.rows(trial)) == counted_to(7));
    CHECK(reporters(cluster.rows(trial)) == std::vector<std::int64_t>{a, a, a, a, b, b, b});
  }
  cluster.check_sound();
}

TEST_CASE("driver and nodes that are told to end at once save what runs, and it goes on later",
          "[cluster]") {
  Cluster cluster(2, 7);
  cluster.let_trials_reach(3);
  auto driver = cluster.start_driver({"rarely", "--tune-cpus=1"});
  const auto leaver = cluster.start_node();
  for (int trial = 0; trial < 2; ++trial) REQUIRE(cluster.wait_for_rows(trial, 3));
  for (const pid_t pid : cluster.processes()) ::kill(pid, SIGTERM);
  CHECK(driver->wait() == 128 + SIGTERM);
  CHECK_FALSE(leaver->wait() < 0);
  CHECK(wait_until([&] { return cluster.processes().empty(); }));
  std::vector<std::vector<std::int64_t>> before;
  for (int trial = 0; trial < 2; ++trial) before.push_back(reporters(cluster.rows(trial)));
  cluster.let_trials_reach(100);
  driver = cluster.start_driver({"rarely", "--tune-cpus=2"});
  CHECK(driver->read_line() == "2 of 2");
  CHECK(driver->wait() == 0);
  for (int trial = 0; trial < 2; ++trial) {
    CHECK(iterations(cluster.rows(trial)) == counted_to(7));
    std::vector<std::int64_t> after = reporters(cluster.rows(trial));
    REQUIRE(before[static_cast<std::size_t>(trial)].size() == 4);
    after.resize(4);
    CHECK(after == before[static_cast<std::size_t>(trial)]);
  }
  cluster.check_sound();
}

TEST_CASE("a second signal ends a node at once, and its trial goes on elsewhere", "[cluster]") {
  Cluster cluster(1, 5);
  cluster.let_trials_reach(3);
  const auto driver = cluster.start_lone_driver({"rarely", "deaf"});
  const auto leaver = cluster.start_node();
  REQUIRE(cluster.wait_for_rows(0, 3));
  ::kill(leaver->pid(), SIGTERM);
  REQUIRE(cluster.wait_for_log("leaves: it got SIGTERM; its trials save first"));
  CHECK_FALSE(leaver->has_ended());
  ::kill(leaver->pid(), SIGTERM);
  CHECK(leaver->wait() == 128 + SIGTERM);
  REQUIRE(cluster.wait_for_log("is lost: its connection broke"));
  const auto other = cluster.start_node();
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "1 of 1");
  CHECK(driver->wait() == 0);
  CHECK(other->wait() == 0);
  CHECK(iterations(cluster.rows(0)) == counted_to(5));
  CHECK(wait_until([&] { return cluster.processes().empty(); }));
  cluster.check_sound();
}

TEST_CASE("a trial that does not save in time keeps its node no longer than that", "[cluster]") {
  Cluster cluster(1, 5);
  cluster.let_trials_reach(3);
  const auto driver = cluster.start_lone_driver({"deaf"});  // its stop_grace is 5 s
  const auto leaver = cluster.start_node();
  REQUIRE(cluster.wait_for_rows(0, 3));
  ::kill(leaver->pid(), SIGTERM);
  CHECK(leaver->wait() == 128 + SIGTERM);
  REQUIRE(cluster.wait_for_log("is lost: it got SIGTERM"));
  const auto other = cluster.start_node();
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "1 of 1");  // max_failures is 0: being ended is no failure
  CHECK(driver->wait() == 0);
  CHECK(other->wait() == 0);
  CHECK(iterations(cluster.rows(0)) == counted_to(5));
  cluster.check_sound();
}

TEST_CASE("a worker heeds the second signal that is not of its node", "[cluster]") {
  Cluster cluster(1, 8);
  cluster.let_trials_reach(3);
  const auto driver = cluster.start_lone_driver({"--tune-max-failures=1"});
  const auto node = cluster.start_node();
  REQUIRE(cluster.wait_for_rows(0, 3));
  const pid_t worker = cluster.rows(0).back().at("worker").get<pid_t>();
  ::kill(worker, SIGTERM);
  cluster.let_trials_reach(6);
  REQUIRE(cluster.wait_for_rows(0, 6));
  CHECK(cluster.rows(0).back().at("worker") == worker);
  ::kill(worker, SIGTERM);
  CHECK(cluster.wait_for_log("was killed by signal 15 (Terminated)"));
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "1 of 1");
  CHECK(driver->wait() == 0);
  CHECK(node->wait() == 0);
  CHECK(iterations(cluster.rows(0)) == counted_to(8));
}

}  // namespace
}  // namespace tune::test
