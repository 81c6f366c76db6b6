#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace tune::test {

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
  /// From now on packets take their time in both directions, and some are lost. False if this
  /// system cannot do that.
  [[nodiscard]] bool make_slow() const {
    const auto slow = [](const std::string& host) {
      return run("ip netns exec " + host +
                 " tc qdisc add dev cable root netem delay 100ms 20ms loss 3%");
    };
    return slow(a_) && slow(b_);
  }

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

}  // namespace tune::test
