#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "cluster.hpp"
#include "support/skip.hpp"

namespace tune::test {
namespace {

using Catch::Contains;

/// Two hosts with a cable between them: network namespaces of this machine.
class TwoHosts {
 public:
  TwoHosts() {
    is_there_ = run("ip netns add " + a_) && run("ip netns add " + b_) &&
                run("ip -n " + a_ + " link add cable type veth peer name cable netns " + b_) &&
                run("ip -n " + a_ + " address add 10.213.0.1/24 dev cable") &&
                run("ip -n " + b_ + " address add 10.213.0.2/24 dev cable") &&
                run("ip -n " + a_ + " link set dev lo up") &&
                run("ip -n " + a_ + " link set dev cable up") && heal();
  }
  ~TwoHosts() {
    run("ip netns delete " + a_);
    run("ip netns delete " + b_);
  }
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  [[nodiscard]] bool is_there() const { return is_there_; }
  [[nodiscard]] std::vector<std::string> on_a() const { return prefix(a_); }
  [[nodiscard]] std::vector<std::string> on_b() const { return prefix(b_); }
  bool cut() const { return run("ip -n " + b_ + " link set dev cable down"); }
  bool heal() const { return run("ip -n " + b_ + " link set dev cable up"); }

 private:
  static bool run(const std::string& command) {
    return std::system((command + " > /dev/null 2>&1").c_str()) == 0;
  }
  static std::vector<std::string> prefix(const std::string& host) {
    return {"/bin/sh", "-c", "exec ip netns exec " + host + R"( "$0" "$@")"};
  }

  std::string a_ = "tune_a" + std::to_string(::getpid());
  std::string b_ = "tune_b" + std::to_string(::getpid());
  bool is_there_ = false;
};

TEST_CASE("a node that was cut off is fenced, and welcome again once the cable is whole",
          "[cluster]") {
  const TwoHosts hosts;
  if (!hosts.is_there()) return skip_test("no network namespaces");
  Cluster cluster(1, 12);
  cluster.set_host("10.213.0.1");
  cluster.let_trials_reach(3);
  const auto driver = cluster.start_driver(
      {"--tune-no-local", "--tune-insecure", "--tune-node-timeout=2"}, hosts.on_a());
  const auto far = cluster.start_node({}, 1, hosts.on_b());
  REQUIRE(cluster.wait_for_rows(0, 3));
  const auto near = cluster.start_node({}, 1, hosts.on_a());
  REQUIRE(cluster.wait_for_join(*near));

  REQUIRE(hosts.cut());
  const std::string process = "process " + std::to_string(far->pid()) + ")";
  REQUIRE(cluster.wait_for_log(process + " is lost: nothing was heard of it for 2 s"));
  REQUIRE(Cluster::wait_for(far->error_file(), "nothing was heard of the driver for too long"));
  cluster.let_trials_reach(8);
  REQUIRE(cluster.wait_for_rows(0, 8));

  REQUIRE(hosts.heal());
  REQUIRE(wait_until([&] {
    const std::string log = cluster.log();
    return log.find(process + " has joined") != log.rfind(process + " has joined");
  }));
  near->kill();  // the trial must go back
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "1 of 1");
  CHECK(driver->wait() == 0);
  CHECK(far->wait() == 0);
  CHECK(iterations(cluster.rows(0)) == counted_to(12));
  CHECK(nodes_of({cluster.rows(0).back()}) == std::set<std::int64_t>{far->pid()});
  cluster.check_sound();
}

}  // namespace
}  // namespace tune::test
