// Trials whose parallel workers are on several nodes: real processes on this machine.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "cluster.hpp"
#include "support/skip.hpp"

namespace tune::test {
namespace {

using Catch::Contains;

struct Gangs {
  int workers = 2;
  std::string strategy = "strict_spread";
  int numbers = 3;
  int padding = 0;
};

/// A line of what workers write before they meet.
struct Arrival {
  std::string trial;
  int rank = 0;
  int step = 0;
  std::string node;
  pid_t process = 0;
};

/// A cluster that runs gangs on nodes with names.
class GangCluster : public Cluster {
 public:
  GangCluster(int samples, int steps, const Gangs& gangs = {}) : Cluster(samples, steps) {
    const Json gang{{"workers", gangs.workers},
                    {"strategy", gangs.strategy},
                    {"numbers", gangs.numbers},
                    {"padding", gangs.padding}};
    std::ofstream(storage() / "gang.json") << gang;
  }

  ProgramRun& start_named(const std::string& name, int cpus = 1) {
    nodes_[name] = start_node({}, cpus, {"/usr/bin/env", "NODE=" + name});
    REQUIRE(wait_for_join(*nodes_[name]));
    return *nodes_[name];
  }
  /// One that does not see the experiment's directory.
  void start_far(const std::string& name) {
    std::filesystem::create_directory(experiment());
    const std::filesystem::path scratch = storage() / ("scratch_" + name);
    std::filesystem::create_directory(scratch);
    const std::string script =
        "mount -t tmpfs -o ro none '" + experiment().string() + R"(' && exec env "$0" "$@")";
    nodes_[name] = start_node({"--tune-scratch=" + scratch.string()}, 1,
                              {"/usr/bin/unshare", "-m", "/bin/sh", "-c", script, "NODE=" + name});
    REQUIRE(wait_for_join(*nodes_[name]));
  }
  [[nodiscard]] static bool can_hide() {
    return std::system("unshare -m sh -c 'mount -t tmpfs none /tmp' > /dev/null 2>&1") == 0;
  }
  [[nodiscard]] std::filesystem::path trial(int id) const {
    const std::string prefix = "0000" + std::to_string(id);
    for (const auto& entry : std::filesystem::directory_iterator(experiment())) {
      if (entry.path().filename().string().starts_with(prefix)) return entry.path();
    }
    return {};
  }
  ProgramRun& node(const std::string& name) { return *nodes_.at(name); }
  /// All others end well.
  void check_ends(const std::set<std::string>& killed = {}) {
    for (auto& [name, node] : nodes_) {
      if (!killed.contains(name)) CHECK(node->wait() == 0);
    }
    CHECK(wait_until([&] { return processes().empty(); }));
    check_sound();
  }

  /// The worker of that rank does not come to the barrier of that step until let_go().
  void hold(int rank, int step) const {
    std::ofstream(storage() / "hold") << rank << ' ' << step << '\n';
  }
  void let_go() const { std::filesystem::remove(storage() / "hold"); }

  [[nodiscard]] std::vector<Arrival> arrivals() const {
    std::vector<Arrival> arrivals;
    std::istringstream text(read_text(storage() / "arrived"));
    Arrival arrival;
    while (text >> arrival.trial >> arrival.rank >> arrival.step >> arrival.node >>
           arrival.process) {
      arrivals.push_back(arrival);
    }
    return arrivals;
  }
  /// Waits until so many workers have come to a step, and gives them by their rank.
  [[nodiscard]] std::map<int, Arrival> wait_for_arrivals(int step, std::size_t count) const {
    std::map<int, Arrival> of_step;
    const bool came = wait_until([&] {
      for (const Arrival& arrival : arrivals()) {
        if (arrival.step == step) of_step[arrival.rank] = arrival;
      }
      return of_step.size() >= count;
    });
    REQUIRE(came);
    return of_step;
  }

 private:
  std::map<std::string, std::unique_ptr<ProgramRun>> nodes_;
};

std::vector<std::string> words_of(const Json& nodes) {
  std::istringstream text(nodes.get<std::string>());
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  std::sort(words.begin(), words.end());
  return words;
}

void check_exact(const std::vector<Json>& rows) {
  for (const Json& row : rows) CHECK(row.at("is_exact") == true);
}

TEST_CASE("workers on several nodes meet, and add up to the last bit", "[gangs]") {
  struct Case {
    Gangs gangs;
    std::vector<int> cpus;
    std::vector<std::string> nodes;  // of the trial and its workers
  };
  const Case c =
      GENERATE(Case{{3, "spread"}, {2, 2}, {"a", "a", "b", "b"}},
               Case{{5, "spread"}, {2, 2, 2}, {"a", "a", "b", "b", "c", "c"}},
               Case{{2, "strict_spread"}, {4, 4, 4}, {"a", "b", "c"}},
               Case{{3, "pack"}, {1, 3}, {"a", "b", "b", "b"}},
               Case{{1, "strict_spread", 65536}, {1, 1}, {"a", "b"}});  // as much as there may be
  GangCluster cluster(/*samples=*/1, /*steps=*/3, c.gangs);
  const auto driver = cluster.start_lone_driver();
  for (std::size_t i = 0; i < c.cpus.size(); ++i) {
    cluster.start_named(std::string(1, static_cast<char>('a' + i)), c.cpus[i]);
  }
  CHECK(driver->read_line() == "1 of 1");
  CHECK(driver->wait() == 0);
  const std::vector<Json> rows = cluster.rows(0);
  CHECK(iterations(rows) == counted_to(3));
  for (const Json& row : rows) CHECK(words_of(row.at("nodes")) == c.nodes);
  check_exact(rows);
  cluster.check_ends();
}

TEST_CASE("the driver's machine and a node share a gang", "[gangs]") {
  GangCluster cluster(2, 3, {.workers = 1});
  const auto driver = cluster.start_driver({"--tune-cpus=1"});
  cluster.start_named("a");
  CHECK(driver->read_line() == "2 of 2");
  CHECK(driver->wait() == 0);
  for (const int trial : {0, 1}) {
    for (const Json& row : cluster.rows(trial)) {
      CHECK(words_of(row.at("nodes")) == std::vector<std::string>{"a", "driver"});
    }
    check_exact(cluster.rows(trial));
  }
  cluster.check_ends();
}

TEST_CASE("what workers print arrives from nodes that do not see the driver's files",
          "[gangs][travel]") {
  const Gangs gangs = GENERATE(Gangs{.workers = 2}, Gangs{.workers = 2, .strategy = "pack"});
  GangCluster cluster(/*samples=*/2, /*steps=*/3, gangs);
  if (!cluster.can_hide()) return skip_test("no mount namespaces");
  const auto driver = cluster.start_lone_driver();
  for (const char* name : {"a", "b", "c"}) cluster.start_far(name);
  CHECK(driver->read_line() == "2 of 2");
  CHECK(driver->wait() == 0);
  for (const int trial : {0, 1}) {
    CHECK(iterations(cluster.rows(trial)) == counted_to(3));
    for (const int rank : {0, 1}) {
      std::string printed;
      for (int step = 1; step <= 3; ++step) {
        printed += "worker and step " + std::to_string(rank) + " " + std::to_string(step) + "\n";
      }
      CHECK(read_text(cluster.trial(trial) / "workers" / std::to_string(rank) / "stdout") ==
            printed);
    }
    for (const auto& entry : std::filesystem::directory_iterator(cluster.trial(trial))) {
      CHECK_THAT(entry.path().filename().string(), !Contains("outgoing"));
    }
  }
  cluster.check_ends();
}

TEST_CASE("what is large travels in pieces, and holds up no heartbeat", "[gangs]") {
  GangCluster cluster(1, 3, {.workers = 1, .padding = 30 << 20});
  const auto driver = cluster.start_lone_driver({"--tune-node-timeout=2"});
  for (const char* name : {"a", "b"}) cluster.start_named(name);
  CHECK(driver->read_line() == "1 of 1");
  CHECK(driver->wait() == 0);
  CHECK(iterations(cluster.rows(0)) == counted_to(3));
  check_exact(cluster.rows(0));
  CHECK_THAT(cluster.log(), !Contains("is lost"));
  cluster.check_ends();
}

TEST_CASE("gangs that each need all nodes take turns", "[gangs]") {
  GangCluster cluster(5, 2, {.workers = 3, .strategy = "spread"});
  const auto driver = cluster.start_lone_driver();
  cluster.start_named("a", 2);
  cluster.start_named("b", 2);
  CHECK(driver->read_line() == "5 of 5");
  CHECK(driver->wait() == 0);
  for (int trial = 0; trial < 5; ++trial) {
    CHECK(iterations(cluster.rows(trial)) == counted_to(2));
    check_exact(cluster.rows(trial));
  }
  cluster.check_ends();
}

TEST_CASE("FA-12: a gang whose node is lost in a barrier ends as one, and starts anew elsewhere",
          "[gangs][FA-12]") {
  const bool is_trials_node = GENERATE(false, true);
  const int signal = GENERATE(SIGKILL, SIGSTOP);
  GangCluster cluster(/*samples=*/1, /*steps=*/4);
  cluster.hold(1, 2);
  const auto driver = cluster.start_lone_driver({"--tune-node-timeout=2"});
  for (const char* name : {"a", "b", "c"}) cluster.start_named(name);
  const auto before = cluster.wait_for_arrivals(2, 2);
  std::set<std::string> with_workers{before.at(0).node, before.at(1).node};
  std::string lost = before.at(1).node;
  if (is_trials_node) {
    for (const char* name : {"a", "b", "c"}) {
      if (!with_workers.contains(name)) lost = name;
    }
  }
  ::kill(cluster.node(lost).pid(), signal);
  REQUIRE(
      cluster.wait_for_log("process " + std::to_string(cluster.node(lost).pid()) + ") is lost"));
  cluster.let_go();
  cluster.start_named("d");
  CHECK(driver->read_line() == "1 of 1");  // max_failures is 0: the loss is no failure
  CHECK(driver->wait() == 0);
  CHECK(iterations(cluster.rows(0)) == counted_to(4));
  check_exact(cluster.rows(0));
  std::vector<std::string> nodes{"a", "b", "c", "d"};
  std::erase(nodes, lost);
  CHECK(words_of(cluster.rows(0).back().at("nodes")) == nodes);
  cluster.node(lost).kill();
  cluster.check_ends({lost});
}

TEST_CASE("a node that leaves costs no gang more than the step that it is in", "[gangs]") {
  const bool is_trials_node = GENERATE(false, true);
  GangCluster cluster(1, 4);
  cluster.hold(1, 2);
  const auto driver = cluster.start_lone_driver();  // max_failures is 0
  for (const char* name : {"a", "b", "c"}) cluster.start_named(name);
  const auto workers = cluster.wait_for_arrivals(2, 2);
  std::string leaver = workers.at(1).node;
  if (is_trials_node) {
    for (const char* name : {"a", "b", "c"}) {
      if (workers.at(0).node != name && workers.at(1).node != name) leaver = name;
    }
  }
  ::kill(cluster.node(leaver).pid(), SIGTERM);
  REQUIRE(cluster.wait_for_log("its trials save first"));
  cluster.let_go();
  CHECK(cluster.node(leaver).wait() == 128 + SIGTERM);
  cluster.start_named("d");
  CHECK(driver->read_line() == "1 of 1");
  CHECK(driver->wait() == 0);
  CHECK(iterations(cluster.rows(0)) == counted_to(4));
  // Its step was finished there, with its workers.
  if (is_trials_node) CHECK(cluster.rows(0).at(1).at("pid") == cluster.node(leaver).pid());
  check_exact(cluster.rows(0));
  cluster.check_ends({leaver});
}

TEST_CASE("a worker that dies on another node fails its trial by name", "[gangs]") {
  const bool has_retry = GENERATE(false, true);
  GangCluster cluster(1, 3, {.workers = 2});
  cluster.hold(1, 2);
  const auto driver =
      cluster.start_lone_driver({has_retry ? "--tune-max-failures=1" : "--tune-max-failures=0"});
  for (const char* name : {"a", "b", "c"}) cluster.start_named(name);
  const pid_t process = cluster.wait_for_arrivals(2, 2).at(1).process;
  ::kill(process, SIGSTOP);  // so that it does not go on
  cluster.let_go();
  ::kill(process, SIGKILL);
  if (has_retry) {
    CHECK(driver->read_line() == "1 of 1");
    CHECK(iterations(cluster.rows(0)) == counted_to(3));
  } else {
    CHECK(driver->read_line() == "0 of 1");
    CHECK_THAT(driver->read_line(), Contains("worker 1 died: the worker process " +
                                             std::to_string(process) + " was killed by signal 9"));
  }
  CHECK(driver->wait() == 0);
  cluster.check_ends();
}

TEST_CASE("what ends an experiment ends gangs on all nodes", "[gangs]") {
  const bool is_interrupt = GENERATE(false, true);
  GangCluster cluster(1, 3, {.workers = 2});
  cluster.hold(1, 2);
  std::vector<std::string> options;
  if (!is_interrupt) options.emplace_back("--tune-time-budget=3");
  const auto driver = cluster.start_lone_driver(options);
  for (const char* name : {"a", "b", "c"}) cluster.start_named(name);
  (void)cluster.wait_for_arrivals(2, 2);
  if (is_interrupt) ::kill(driver->pid(), SIGINT);
  CHECK(driver->wait() == (is_interrupt ? 130 : 0));
  cluster.check_ends();
  CHECK(iterations(cluster.rows(0)) == counted_to(1));
}

}  // namespace
}  // namespace tune::test
