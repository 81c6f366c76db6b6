#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "cluster.hpp"
#include "slow_relay.hpp"
#include "support/skip.hpp"
#include "two_hosts.hpp"

namespace tune::test {
namespace {

using Catch::Contains;

/// A node is cut off until its trial runs elsewhere, and comes back.
void cut_and_heal(const Cluster::Words& options, const std::string& when_cut,
                  const std::function<bool(const Cluster&, const ProgramRun&)>& is_back) {
  const TwoHosts hosts;
  if (!hosts.is_there()) return skip_test("no network namespaces");
  Cluster cluster(1, 12);
  cluster.set_host("10.213.0.1");
  cluster.let_trials_reach(3);
  Cluster::Words words{"--tune-no-local", "--tune-insecure", "--tune-node-timeout=2"};
  words.insert(words.end(), options.begin(), options.end());
  const auto driver = cluster.start_driver(words, hosts.on_a());
  const auto far = cluster.start_node({}, 1, hosts.on_b());
  REQUIRE(cluster.wait_for_rows(0, 3));
  const auto near = cluster.start_node({}, 1, hosts.on_a());
  REQUIRE(cluster.wait_for_join(*near));

  REQUIRE(hosts.cut());
  REQUIRE(cluster.wait_for_log("process " + std::to_string(far->pid()) +
                               ") is lost: nothing was heard of it for 2 s"));
  REQUIRE(Cluster::wait_for(far->error_file(), when_cut));
  cluster.let_trials_reach(8);
  REQUIRE(cluster.wait_for_rows(0, 8));

  REQUIRE(hosts.heal());
  REQUIRE(is_back(cluster, *far));
  near->kill();  // the trial must go back
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "1 of 1");
  CHECK(driver->wait() == 0);
  CHECK(far->wait() == 0);
  CHECK(iterations(cluster.rows(0)) == counted_to(12));
  CHECK(nodes_of({cluster.rows(0).back()}) == std::set<std::int64_t>{far->pid()});
  cluster.check_sound();
}

TEST_CASE("a node that was cut off is fenced, and welcome again once the cable is whole",
          "[cluster]") {
  cut_and_heal({}, "nothing was heard of the driver for too long",
               [](const Cluster& cluster, const ProgramRun& far) {
                 const std::string joins = "process " + std::to_string(far.pid()) + ") has joined";
                 return wait_until([&] {
                   const std::string log = cluster.log();
                   return log.find(joins) != log.rfind(joins);
                 });
               });
}

TEST_CASE("a node that was cut off and holds on to its trial is told that it runs elsewhere",
          "[cluster][grace]") {
  cut_and_heal({"--tune-driver-grace=1000"}, "1 trial goes on",
               [](const Cluster&, const ProgramRun& far) {
                 return Cluster::wait_for(far.error_file(), "has taken 0 trials over");
               });
}

/// What a slow way between driver and node must not change.
void check_nothing_lost(const Cluster& cluster, int samples, int steps) {
  CHECK_THAT(cluster.log(), !Contains("is lost"));
  for (int trial = 0; trial < samples; ++trial) {
    CHECK(iterations(cluster.rows(trial)) == counted_to(steps));
  }
  cluster.check_sound();
}

TEST_CASE("a slow line between driver and node loses no result and no node", "[cluster]") {
  constexpr int samples = 4;
  constexpr int steps = 300;
  Cluster cluster(samples, steps);
  SlowRelay relay(cluster.port());
  // A silence of a second is none: the line has such, one way or the other.
  const auto driver = cluster.start_lone_driver({"--tune-node-timeout=10"});
  const auto node = cluster.start_program(
      {"--tune-join=127.0.0.1:" + std::to_string(relay.port()), "--tune-cpus=2"});
  CHECK(driver->read_line() == "4 of 4");
  CHECK(driver->wait() == 0);
  CHECK(node->wait() == 0);
  check_nothing_lost(cluster, samples, steps);
}

TEST_CASE("lost and late packets lose no result and no node", "[cluster]") {
  const TwoHosts hosts;
  if (!hosts.is_there()) return skip_test("no network namespaces");
  if (!hosts.make_slow()) return skip_test("this system's tc has no netem");
  constexpr int samples = 4;
  constexpr int steps = 300;
  Cluster cluster(samples, steps);
  cluster.set_host("10.213.0.1");
  const auto driver = cluster.start_driver({"--tune-no-local", "--tune-insecure"}, hosts.on_a());
  const auto node = cluster.start_node({}, 2, hosts.on_b());
  CHECK(driver->read_line() == "4 of 4");
  CHECK(driver->wait() == 0);
  CHECK(node->wait() == 0);
  check_nothing_lost(cluster, samples, steps);
}

}  // namespace
}  // namespace tune::test
