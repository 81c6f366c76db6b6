#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/callback.hpp>
#include <tune/fsck.hpp>
#include <tune/registry.hpp>

#include "run_support.hpp"
#include "small_disk.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t disk_bytes = 8U << 20U;

/// Descends with checkpoints of 64 KiB, and rows of 1 KiB. Waits in a step of its middle until
/// there is a file "go".
class HeavyDescent final : public Descent {
 public:
  void setup(const Config& config) override {
    Descent::setup(config);
    iteration_ = context().start_iteration;
  }
  Metrics step() override {
    const fs::path storage = context().trial_dir.parent_path().parent_path();
    if (++iteration_ == 16) {
      wait_until([&] { return context().should_stop() || fs::exists(storage / "go"); });
    }
    Metrics metrics = Descent::step();
    metrics["text"] = std::string(1000, 'x');
    return metrics;
  }
  void save_checkpoint(const fs::path& dir) override {
    Descent::save_checkpoint(dir);
    std::ofstream(dir / "weights") << std::string(64U << 10U, 'w');
  }

 private:
  std::int64_t iteration_ = 0;
};
TUNE_REGISTER_TRAINABLE(HeavyDescent)

using Exporters = std::vector<std::string>;

Experiment on_disk(const SmallDisk& disk, const Exporters& exporters = {}) {
  Experiment experiment = small_experiment(disk.folder());
  experiment.space = {{"x", uniform(1, 2)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.num_samples = 4;
  experiment.stop = {{"training_iteration", 30}};
  experiment.checkpoint = {.every = 2};
  experiment.exporters = exporters;
  return experiment;
}

/// Fills the disk at the n-th result that it hears of.
class Filler final : public Callback {
 public:
  Filler(const SmallDisk& disk, int results) : disk_(disk), left_(results) {}
  void on_trial_result(const TrialInfo&, const Result&) override {
    if (--left_ > 0) return;
    disk_.fill();
    std::ofstream(disk_.path() / "go") << "";  // which takes no room
  }

 private:
  const SmallDisk& disk_;
  int left_;
};

std::string fault_of(Experiment experiment) {
  try {
    (void)tune_run<HeavyDescent>(experiment);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

void check_whole(const fs::path& path, const Exporters& exporters) {
  CHECK(fsck(path).is_sound());
  const ResultGrid grid = ResultGrid::open(path);
  REQUIRE(grid.size() == 4);
  for (const TrialResult& trial : grid) {
    CAPTURE(trial.id.value());
    CHECK(trial.state == TrialState::terminated);
    CHECK(iterations(trial) == counted_to(30));
    if (!exporters.empty()) CHECK(read_lines(trial.path / "result.json").size() == 30);
  }
}

TEST_CASE("a full disk stops an experiment, which goes on once there is room", "[resume][disk]") {
  const SmallDisk disk(disk_bytes);
  if (!disk.is_there()) return;
  Exporters exporters;
  SECTION("with result files") { exporters = {"json", "csv", "tensorboard"}; }
  SECTION("without") {}
  Experiment first = on_disk(disk, exporters);
  first.callbacks = {std::make_shared<Filler>(disk, 25)};
  std::string fault = fault_of(std::move(first));
  // What was recorded can be read while the disk is full.
  const ResultGrid grid = ResultGrid::open(disk.path() / "run");
  REQUIRE_FALSE(grid.empty());
  for (const TrialResult& trial : grid) {
    CHECK(iterations(trial) == counted_to(static_cast<std::int64_t>(trial.history().size())));
    fault += trial.error;  // if the journal still had room and its checkpoint had not
  }
  CHECK_THAT(fault, Catch::Contains(disk.path().string()));
  CHECK_THAT(fault, Catch::Contains("full") || Catch::Contains("No space left on device"));
  CHECK(fsck(disk.path() / "run").is_sound());
  // Nor is anything lost by trying again too early.
  disk.fill();
  (void)fault_of(on_disk(disk, exporters));

  disk.make_room();
  Experiment last = on_disk(disk, exporters);
  last.resume = Resume::errored;  // a trial whose checkpoint had no room may have failed
  CHECK(fault_of(std::move(last)).empty());
  check_whole(disk.path() / "run", exporters);
}

TEST_CASE("an experiment that may not write is refused with the path", "[resume][disk]") {
  const SmallDisk disk(disk_bytes);
  if (!disk.is_there()) return;
  SECTION("a new one") {
    disk.forbid_writing();
    CHECK_THAT(fault_of(on_disk(disk)), Catch::Contains((disk.path() / "run").string()) &&
                                            Catch::Contains("Read-only file system"));
    CHECK_FALSE(fs::exists(disk.path() / "run"));
  }
  SECTION("one that would go on") {
    std::ofstream(disk.path() / "go") << "";
    CHECK(fault_of(on_disk(disk)).empty());
    Experiment longer = on_disk(disk);
    longer.num_samples = 5;
    disk.forbid_writing();
    CHECK_THAT(fault_of(std::move(longer)),
               Catch::Contains((disk.path() / "run").string()) && Catch::Contains("ead-only"));
    check_whole(disk.path() / "run", {});  // what is there can be read
  }
}

}  // namespace
}  // namespace tune::test
