#include <filesystem>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "cluster.hpp"
#include "store/journal_reader.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

/// Trials that save only when they are told to: one that had to start again would start from
/// nothing, in another process.
class PatientCluster : public Cluster {
 public:
  PatientCluster(int samples, int steps) : Cluster(samples, steps, CLUSTER_PROGRAM, words()) {}

  [[nodiscard]] std::unique_ptr<ProgramRun> start_patient_driver(double grace_s) {
    return start_lone_driver({"--tune-driver-grace=" + std::to_string(grace_s)});
  }
  /// Waits until `count` workers are in that step, or beyond.
  [[nodiscard]] bool wait_for_workers(int count, int step) const {
    return wait_until([&] {
      int there = 0;
      for (const auto& entry : fs::directory_iterator(storage())) {
        if (!entry.path().filename().string().starts_with("reached_")) continue;
        const std::string text = read_text(entry.path());
        if (!text.empty() && std::stoi(text) >= step) ++there;
      }
      return there >= count;
    });
  }
  /// Kills the driver, and waits until each of the nodes has said what becomes of its trials.
  static void lose(ProgramRun& driver, std::initializer_list<const ProgramRun*> nodes,
                   const std::string& what) {
    driver.kill();
    (void)driver.wait();
    for (const ProgramRun* node : nodes) REQUIRE(wait_for(node->error_file(), what));
  }
  /// Waits until the first trials each have so many rows.
  void reach(int trials, std::size_t rows) const {
    for (int trial = 0; trial < trials; ++trial) REQUIRE(wait_for_rows(trial, rows));
  }
  [[nodiscard]] std::set<std::int64_t> workers_of(int trial) const {
    std::set<std::int64_t> workers;
    for (const Json& row : rows(trial)) workers.insert(row.at("worker").get<std::int64_t>());
    return workers;
  }
  [[nodiscard]] std::size_t starts_of(int trial) const {
    const store::JournalReader journal(experiment());
    return journal.starts(TrialId{static_cast<std::uint64_t>(trial)}).size();
  }
  /// Children of trials that run still.
  [[nodiscard]] std::size_t count_processes() const { return processes().size(); }

 private:
  static Words words() { return {"rarely", "marks", "children"}; }
};

TEST_CASE("trials go on at their node while the driver is dead, and the next one takes them over",
          "[grace]") {
  PatientCluster cluster(/*samples=*/2, /*steps=*/20);
  cluster.let_trials_reach(3);
  auto driver = cluster.start_patient_driver(100);
  const auto node = cluster.start_node({}, 2);
  for (const int reached : {3, 8, 13}) {
    CAPTURE(reached);
    cluster.reach(2, static_cast<std::size_t>(reached - 1));
    PatientCluster::lose(*driver, {node.get()}, "2 trials go on");
    cluster.let_trials_reach(reached + 5);
    REQUIRE(cluster.wait_for_workers(2, reached + 5));  // nobody is there to hear of it
    driver = cluster.start_patient_driver(100);
  }
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "2 of 2");
  CHECK(driver->wait() == 0);
  CHECK(node->wait() == 0);
  for (int trial = 0; trial < 2; ++trial) {
    CHECK(iterations(cluster.rows(trial)) == counted_to(20));
    CHECK(cluster.workers_of(trial).size() == 1);
    CHECK(cluster.starts_of(trial) == 1);
  }
  CHECK_THAT(cluster.log(), Contains("held since the last driver: 2, taken over: 2"));
  CHECK(wait_until([&] { return cluster.processes().empty(); }));
  cluster.check_sound();
}

TEST_CASE("a trial that ends while the driver is dead has ended", "[grace]") {
  PatientCluster cluster(/*samples=*/3, /*steps=*/6);
  cluster.let_trials_reach(3);
  auto driver = cluster.start_patient_driver(100);
  const auto node = cluster.start_node({}, 2);
  cluster.reach(2, 2);
  PatientCluster::lose(*driver, {node.get()}, "2 trials go on");
  cluster.let_trials_reach(100);
  REQUIRE(cluster.wait_for_workers(2, 6));
  driver = cluster.start_patient_driver(100);
  CHECK(driver->read_line() == "3 of 3");  // the node has room for the third
  CHECK(driver->wait() == 0);
  CHECK(node->wait() == 0);
  for (int trial = 0; trial < 3; ++trial) {
    CHECK(iterations(cluster.rows(trial)) == counted_to(6));
    CHECK(cluster.starts_of(trial) == 1);
  }
  cluster.check_sound();
}

TEST_CASE("FA-11: nothing is left at a node whose driver stays away", "[FA-11][grace]") {
  PatientCluster cluster(/*samples=*/3, /*steps=*/6);
  cluster.let_trials_reach(3);
  const auto driver = cluster.start_patient_driver(2);
  const auto node = cluster.start_node({}, 3);
  cluster.reach(3, 2);
  PatientCluster::lose(*driver, {node.get()}, "3 trials go on");
  // The node itself, its guardian, and a worker with a child for each trial.
  CHECK(cluster.count_processes() >= 6);
  REQUIRE(Cluster::wait_for(node->error_file(), "no driver came back within 2 s (driver_grace)"));
  // What is left waits for a driver.
  CHECK(wait_until([&] { return cluster.processes() == std::vector<pid_t>{node->pid()}; }));
  node->kill();
  CHECK(wait_until([&] { return cluster.processes().empty(); }));
}

TEST_CASE("a driver that comes back too late, or does not want it, starts its trials again",
          "[grace]") {
  PatientCluster cluster(/*samples=*/2, /*steps=*/6);
  cluster.let_trials_reach(3);
  auto driver = cluster.start_patient_driver(100);
  const auto node = cluster.start_node({}, 2);
  cluster.reach(2, 2);
  PatientCluster::lose(*driver, {node.get()}, "2 trials go on");
  driver = cluster.start_patient_driver(0);
  REQUIRE(Cluster::wait_for(node->error_file(), "has taken 0 trials over"));
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "2 of 2");
  CHECK(driver->wait() == 0);
  CHECK(node->wait() == 0);
  for (int trial = 0; trial < 2; ++trial) {
    CHECK(iterations(cluster.rows(trial)) == counted_to(6));
    CHECK(cluster.workers_of(trial).size() == 1);  // rows of the start before are superseded
    CHECK(cluster.starts_of(trial) == 2);
  }
  cluster.check_sound();
}

TEST_CASE(
    "a node that is lost while the driver is dead: its trials start again when the grace ends",
    "[grace]") {
  PatientCluster cluster(/*samples=*/2, /*steps=*/6);
  cluster.let_trials_reach(3);
  auto driver = cluster.start_patient_driver(100);
  const auto lost = cluster.start_node();
  const auto kept = cluster.start_node();
  cluster.reach(2, 2);
  PatientCluster::lose(*driver, {lost.get(), kept.get()}, "1 trial goes on");
  lost->kill();
  driver = cluster.start_patient_driver(3);
  REQUIRE(cluster.wait_for_log("held since the last driver: 1, taken over: 1"));
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "2 of 2");
  CHECK(driver->wait() == 0);
  CHECK(kept->wait() == 0);
  for (int trial = 0; trial < 2; ++trial) {
    CHECK(iterations(cluster.rows(trial)) == counted_to(6));
    CHECK(nodes_of(cluster.rows(trial)) == std::set<std::int64_t>{kept->pid()});
  }
  CHECK(cluster.starts_of(0) + cluster.starts_of(1) == 3);
  cluster.check_sound();
}

}  // namespace
}  // namespace tune::test
