#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "cluster.hpp"
#include "store/journal_reader.hpp"
#include "support/skip.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

/// A driver, and nodes that do not see its experiment: where it is they have an empty file system
/// that nobody can write to.
class FarCluster : public Cluster {
 public:
  explicit FarCluster(int samples, int steps, const std::string& how = "fifo",
                      std::size_t weights_bytes = 100)
      : Cluster(samples, steps, TRAVEL_PROGRAM, {how, std::to_string(weights_bytes)}) {
    fs::create_directory(experiment());
    can_hide_ = std::system("unshare -m sh -c 'mount -t tmpfs none /tmp' > /dev/null 2>&1") == 0;
    if (!can_hide_) skip_test("no mount namespaces");
  }

  /// False: the test case has been skipped.
  [[nodiscard]] bool is_there() const { return can_hide_; }
  /// With so many bytes of room for its own files; 0: all there is.
  [[nodiscard]] std::unique_ptr<ProgramRun> start_far_node(std::size_t room_bytes = 0,
                                                           int cpus = 1) {
    const fs::path scratch = storage() / ("scratch" + std::to_string(scratches_++));
    fs::create_directory(scratch);
    std::string script = "mount -t tmpfs -o ro none '" + experiment().string() + "' && ";
    if (room_bytes > 0) {
      script += "mount -t tmpfs -o size=" + std::to_string(room_bytes) + " none '" +
                scratch.string() + "' && ";
    }
    return start_node({"--tune-scratch=" + scratch.string()}, cpus,
                      {"/usr/bin/unshare", "-m", "/bin/sh", "-c", script + R"(exec "$0" "$@")"});
  }
  /// Where trials of the node that was started as the n-th, from 0, have their files.
  [[nodiscard]] fs::path scratch(int node) const {
    return storage() / ("scratch" + std::to_string(node));
  }
  [[nodiscard]] fs::path trial(int id) const {
    char prefix[8];
    std::snprintf(prefix, sizeof prefix, "%05d", id);
    for (const auto& entry : fs::directory_iterator(experiment())) {
      if (entry.path().filename().string().starts_with(prefix)) return entry.path();
    }
    return {};
  }
  /// Waits until a checkpoint of the first trial is on record.
  [[nodiscard]] bool wait_for_checkpoint(const std::string& name) const {
    return wait_until([&] {
      const store::JournalReader journal(experiment());
      const auto rows = journal.checkpoints(TrialId{0});
      return std::any_of(rows.begin(), rows.end(),
                         [&](const store::CheckpointRow& row) { return row.directory == name; });
    });
  }
  /// What stands in a trial's directory, sorted.
  [[nodiscard]] std::vector<std::string> names(int id, const std::string& below = {}) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(trial(id) / below)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  bool can_hide_ = false;
  int scratches_ = 0;
};

/// What a trial prints, all steps once.
std::string printed(const FarCluster& cluster, int id, int steps) {
  std::string text;
  for (int step = 1; step <= steps; ++step) {
    text += "step " + std::to_string(step) + " of " + cluster.trial(id).filename().string() + "\n";
  }
  return text;
}

TEST_CASE("what trials of a node without the driver's files leave behind arrives there",
          "[travel]") {
  FarCluster cluster(/*samples=*/2, /*steps=*/5);
  if (!cluster.is_there()) return;
  const auto driver = cluster.start_lone_driver();
  const auto node = cluster.start_far_node();
  CHECK(driver->read_line() == "2 of 2");
  CHECK(driver->wait() == 0);
  CHECK(node->wait() == 0);
  CHECK_THAT(read_text(node->error_file()),
             Contains("what it needs of the driver's files is copied"));
  for (int id = 0; id < 2; ++id) {
    CHECK(iterations(cluster.rows(id)) == counted_to(5));
    CHECK_THAT(cluster.rows(id)[0].at("place").get<std::string>(),
               Contains(cluster.scratch(0).string()));
    CHECK(cluster.names(id) == std::vector<std::string>{"artifacts", "checkpoint_000004",
                                                        "checkpoint_000005", "notes.txt",
                                                        "params.json", "plots", "result.json",
                                                        "stderr", "stdout"});
    CHECK(cluster.names(id, "plots").size() == 5);
    CHECK(read_text(cluster.trial(id) / "stdout") == printed(cluster, id, 5));
    CHECK_THAT(read_text(cluster.trial(id) / "stderr"), Contains("noise 5"));
    CHECK(read_text(cluster.trial(id) / "notes.txt") == "until step 5");
    CHECK(read_text(cluster.trial(id) / "checkpoint_000004" / "state") == "4");
  }
  CHECK(fs::is_empty(cluster.scratch(0)));
  cluster.check_sound();
}

TEST_CASE("without shared files a trial goes on where it is when the driver is back",
          "[travel][grace]") {
  FarCluster cluster(/*samples=*/2, /*steps=*/9);
  if (!cluster.is_there()) return;
  cluster.let_trials_reach(4);
  const Cluster::Words grace{"--tune-driver-grace=100"};
  auto driver = cluster.start_lone_driver(grace);
  const auto node = cluster.start_far_node(0, /*cpus=*/2);
  for (int round = 0; round < 2; ++round) {
    for (int id = 0; id < 2; ++id) {
      REQUIRE(cluster.wait_for_rows(id, static_cast<std::size_t>(4 + 2 * round)));
    }
    driver->kill();
    (void)driver->wait();
    REQUIRE(Cluster::wait_for(node->error_file(), "2 trials go on"));
    cluster.let_trials_reach(6 + 2 * round);  // what it saves waits for the driver
    driver = cluster.start_lone_driver(grace);
  }
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "2 of 2");
  CHECK(driver->wait() == 0);
  CHECK(node->wait() == 0);
  const store::JournalReader journal(cluster.experiment());
  for (int id = 0; id < 2; ++id) {
    CHECK(iterations(cluster.rows(id)) == counted_to(9));
    CHECK(journal.starts(TrialId{static_cast<std::uint64_t>(id)}).size() == 1);
    CHECK(read_text(cluster.trial(id) / "stdout") == printed(cluster, id, 9));
    CHECK(read_text(cluster.trial(id) / "checkpoint_000009" / "state") == "9");
  }
  CHECK(fs::is_empty(cluster.scratch(0)));
  cluster.check_sound();
}

TEST_CASE("FA-12: without shared files a trial goes on at another node from what it had delivered",
          "[FA-12][travel]") {
  FarCluster cluster(/*samples=*/1, /*steps=*/8);
  if (!cluster.is_there()) return;
  cluster.let_trials_reach(4);
  const auto driver = cluster.start_lone_driver();
  const auto first = cluster.start_far_node();
  REQUIRE(cluster.wait_for_rows(0, 4));
  first->kill();
  REQUIRE(cluster.wait_for_log("process " + std::to_string(first->pid()) + ") is lost"));
  const auto second = cluster.start_far_node();
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "1 of 1");
  CHECK(driver->wait() == 0);
  CHECK(second->wait() == 0);
  CHECK(iterations(cluster.rows(0)) == counted_to(8));
  CHECK(nodes_of(cluster.rows(0)) == std::set<std::int64_t>{first->pid(), second->pid()});
  cluster.check_sound();
}

TEST_CASE("without shared files a paused trial goes on elsewhere", "[travel]") {
  FarCluster cluster(/*samples=*/2, /*steps=*/6, "pause");
  if (!cluster.is_there()) return;
  std::ofstream(cluster.storage() / "hold") << "";
  cluster.let_trials_reach(4);
  const auto driver = cluster.start_lone_driver();
  const auto first = cluster.start_far_node();
  REQUIRE(cluster.wait_for_rows(1, 4));  // where the first trial ran the second one does
  fs::remove(cluster.storage() / "hold");
  const auto second = cluster.start_far_node();
  REQUIRE(cluster.wait_for_rows(0, 4));
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "2 of 2");
  CHECK(driver->wait() == 0);
  CHECK(first->wait() == 0);
  CHECK(second->wait() == 0);
  CHECK(iterations(cluster.rows(0)) == counted_to(6));
  CHECK(nodes_of(cluster.rows(0)) == std::set<std::int64_t>{first->pid(), second->pid()});
  CHECK(nodes_of(cluster.rows(1)) == std::set<std::int64_t>{first->pid()});
  CHECK(read_text(cluster.trial(0) / "stdout") == printed(cluster, 0, 6));
  cluster.check_sound();
}

TEST_CASE("PBT over two nodes that share no files", "[travel][pbt]") {
  constexpr int steps = 12;
  FarCluster cluster(/*samples=*/2, steps, "pbt", /*weights_bytes=*/1'000'000);
  if (!cluster.is_there()) return;
  cluster.let_trials_reach(0);
  const auto driver = cluster.start_lone_driver();
  const auto a = cluster.start_far_node();
  const auto b = cluster.start_far_node();
  REQUIRE(cluster.wait_for_join(*a));
  REQUIRE(cluster.wait_for_join(*b));
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "2 of 2");
  CHECK(driver->wait() == 0);
  CHECK(a->wait() == 0);
  CHECK(b->wait() == 0);
  std::set<std::int64_t> nodes;
  for (int id = 0; id < 2; ++id) {
    CHECK(iterations(cluster.rows(id)) == counted_to(steps));
    nodes.merge(nodes_of(cluster.rows(id)));
  }
  CHECK(nodes == std::set<std::int64_t>{a->pid(), b->pid()});
  CHECK_FALSE(read_lines(cluster.experiment() / "pbt_global.txt").empty());
  cluster.check_sound();
}

TEST_CASE("two clones of one donor start at one node at a time", "[travel][pbt]") {
  constexpr int steps = 10;
  FarCluster cluster(/*samples=*/6, steps, "pbt", /*weights_bytes=*/300'000);
  if (!cluster.is_there()) return;
  const auto driver = cluster.start_driver({"--tune-cpus=1"});
  const auto node = cluster.start_far_node(0, /*cpus=*/4);
  CHECK(driver->read_line() == "6 of 6");
  CHECK(driver->wait() == 0);
  CHECK(node->wait() == 0);
  for (int id = 0; id < 6; ++id) CHECK(iterations(cluster.rows(id)) == counted_to(steps));
  CHECK_FALSE(read_lines(cluster.experiment() / "pbt_global.txt").empty());
  CHECK_THAT(cluster.log(), !Contains("failed:"));
  CHECK(fs::is_empty(cluster.scratch(0)));
  cluster.check_sound();
}

TEST_CASE("a node that is killed while it delivers leaves the last whole checkpoint", "[travel]") {
  FarCluster cluster(/*samples=*/1, /*steps=*/3, "fifo", /*weights_bytes=*/150'000'000);
  if (!cluster.is_there()) return;
  cluster.let_trials_reach(1);
  const auto driver = cluster.start_lone_driver();
  const auto first = cluster.start_far_node();
  REQUIRE(wait_until([&] {
    const fs::path trial = cluster.trial(0);
    return !trial.empty() && fs::exists(trial / "checkpoint_000001");
  }));
  cluster.let_trials_reach(2);
  const fs::path half = cluster.trial(0) / ".tmp-checkpoint_000002-arrival-1";
  REQUIRE(wait_until([&] { return fs::exists(half); }));
  first->kill();
  REQUIRE(cluster.wait_for_log("process " + std::to_string(first->pid()) + ") is lost"));
  CHECK_FALSE(fs::exists(cluster.trial(0) / "checkpoint_000002"));
  CHECK(wait_until([&] { return !fs::exists(half); }));
  const auto second = cluster.start_far_node();
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "1 of 1");
  CHECK(driver->wait() == 0);
  CHECK(second->wait() == 0);
  const std::vector<Json> rows = cluster.rows(0);
  CHECK(iterations(rows) == counted_to(3));
  CHECK(rows[0].at("pid") == first->pid());
  CHECK(rows[1].at("pid") == second->pid());  // what was half has made way
  CHECK_THAT(cluster.log(), Contains("trial=0 event=started incarnation=2 start_iteration=1"));
  cluster.check_sound();
}

TEST_CASE("a checkpoint that finds no room at the driver is told of, and the trial goes on",
          "[travel][disk]") {
  FarCluster cluster(/*samples=*/1, /*steps=*/1, "fifo", /*weights_bytes=*/8'000'000);
  if (!cluster.is_there()) return;
  // No file of the driver's may become that large: like a full disk, but not for its journal.
  const auto driver = cluster.start_driver(
      {"--tune-no-local"}, {"/bin/sh", "-c", R"(trap '' XFSZ; ulimit -f 8192; exec "$0" "$@")"});
  const auto node = cluster.start_far_node();
  CHECK(driver->read_line() == "1 of 1");
  CHECK(driver->wait() == 0);
  CHECK(node->wait() == 0);
  CHECK(iterations(cluster.rows(0)) == counted_to(1));
  CHECK_THAT(cluster.log(),
             Contains("checkpoint at iteration 1 failed: node ") &&
                 Contains("process " + std::to_string(node->pid())) &&
                 Contains("cannot fetch checkpoint_000001 of trial 00000: cannot write ") &&
                 Contains("weights: File too large"));
  for (const std::string& name : cluster.names(0)) CHECK_THAT(name, !Contains("checkpoint"));
  CHECK(read_text(cluster.trial(0) / "stdout") == printed(cluster, 0, 1));
  cluster.check_sound();
}

TEST_CASE("a node without room for a checkpoint fails the trial with the reason, not the rest",
          "[travel][disk]") {
  FarCluster cluster(/*samples=*/1, /*steps=*/4, "fifo", /*weights_bytes=*/4'000'000);
  if (!cluster.is_there()) return;
  cluster.let_trials_reach(2);
  auto driver = cluster.start_lone_driver();
  const auto first = cluster.start_far_node();
  REQUIRE(cluster.wait_for_rows(0, 2));
  REQUIRE(cluster.wait_for_checkpoint("checkpoint_000002"));
  first->kill();
  REQUIRE(cluster.wait_for_log("process " + std::to_string(first->pid()) + ") is lost"));
  cluster.let_trials_reach(100);
  const auto small = cluster.start_far_node(/*room_bytes=*/1'000'000);
  CHECK(driver->read_line() == "0 of 1");
  CHECK(driver->wait() == 0);
  CHECK(small->wait() == 0);
  const std::string error = read_text(cluster.trial(0) / "error.txt");
  CHECK_THAT(error, Contains("process " + std::to_string(small->pid())) &&
                        Contains("cannot fetch checkpoint_000002 of trial 00000: cannot write ") &&
                        Contains("weights: No space left on device"));
  // With room it goes on from there.
  driver = cluster.start_lone_driver({"--tune-resume=errored"});
  const auto large = cluster.start_far_node();
  CHECK(driver->read_line() == "1 of 1");
  CHECK(driver->wait() == 0);
  CHECK(large->wait() == 0);
  CHECK(iterations(cluster.rows(0)) == counted_to(4));
  CHECK(cluster.rows(0)[1].at("pid") == first->pid());
  cluster.check_sound();
}

TEST_CASE("a damaged checkpoint is found on its way to a node, and the one before is used",
          "[travel]") {
  FarCluster cluster(/*samples=*/1, /*steps=*/6);
  if (!cluster.is_there()) return;
  cluster.let_trials_reach(4);
  const auto driver = cluster.start_lone_driver();
  const auto first = cluster.start_far_node();
  REQUIRE(cluster.wait_for_rows(0, 4));
  const fs::path newest = cluster.trial(0) / "checkpoint_000004";
  REQUIRE(cluster.wait_for_checkpoint("checkpoint_000004"));
  first->kill();
  REQUIRE(cluster.wait_for_log("process " + std::to_string(first->pid()) + ") is lost"));
  SECTION("with other content") { std::ofstream(newest / "state") << "5"; }
  SECTION("without a file") { fs::remove(newest / "state"); }
  SECTION("gone") { fs::remove_all(newest); }
  cluster.let_trials_reach(100);
  const auto second = cluster.start_far_node();
  CHECK(driver->read_line() == "1 of 1");
  CHECK(driver->wait() == 0);
  CHECK(second->wait() == 0);
  CHECK(iterations(cluster.rows(0)) == counted_to(6));
  CHECK_THAT(cluster.log(), Contains("goes back to checkpoint_000003"));
}

TEST_CASE("a node keeps what it has of a driver that is killed and returns", "[travel]") {
  FarCluster cluster(/*samples=*/2, /*steps=*/6);
  if (!cluster.is_there()) return;
  cluster.let_trials_reach(3);
  const auto first = cluster.start_lone_driver();
  const auto node = cluster.start_far_node();
  REQUIRE(cluster.wait_for_rows(0, 3));
  first->kill();
  (void)first->wait();
  REQUIRE(Cluster::wait_for(node->error_file(), "the connection to the driver broke"));
  cluster.let_trials_reach(100);
  const auto second = cluster.start_lone_driver();
  CHECK(second->read_line() == "2 of 2");
  CHECK(second->wait() == 0);
  CHECK(node->wait() == 0);
  for (int id = 0; id < 2; ++id) CHECK(iterations(cluster.rows(id)) == counted_to(6));
  CHECK(fs::is_empty(cluster.scratch(0)));
  for (const auto& entry : fs::directory_iterator(cluster.experiment())) {
    CHECK_THAT(entry.path().filename().string(), !Contains(".token-"));
  }
  cluster.check_sound();
}

}  // namespace
}  // namespace tune::test
