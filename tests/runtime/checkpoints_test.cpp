#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/scheduler.hpp>
#include <tune/tune_run.hpp>

#include "run_support.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

void damage(const fs::path& checkpoint, const std::string& how) {
  const fs::path file = checkpoint / "weights";
  if (how == "cut off") {
    fs::resize_file(file, fs::file_size(file) / 2);
  } else if (how == "one byte") {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(100);
    out.put('!');
  } else if (how == "no file") {
    fs::remove(file);
  } else {
    fs::remove_all(checkpoint);
  }
}

/// In its first start damages, before it fails in step 7, the checkpoints that its parameter
/// "damaged" lists, as "how" says. Notes the step of each checkpoint that it loads.
class Damaging final : public Descent {
 public:
  void setup(const Config& config) override {
    Descent::setup(config);
    how_ = config["how"].get<std::string>();
    damaged_ = config["damaged"].get<std::vector<std::string>>();
  }
  Metrics step() override {
    if (++step_ == 7 && context().incarnation == 1) {
      for (const std::string& name : damaged_) damage(context().trial_dir / name, how_);
      throw std::runtime_error("boom");
    }
    return Descent::step();
  }
  void save_checkpoint(const fs::path& dir) override {
    std::ofstream(dir / "step") << step_;
    std::ofstream(dir / "weights") << std::string(100'000, 'w');
    Descent::save_checkpoint(dir);
  }
  void load_checkpoint(const fs::path& dir) override {
    std::ifstream(dir / "step") >> step_;
    add_line(context().trial_dir / "loads", std::to_string(step_));
    Descent::load_checkpoint(dir);
  }

 private:
  std::string how_;
  std::vector<std::string> damaged_;
  int step_ = 0;
};

Experiment damaging_experiment(const TemporaryFolder& folder, const std::string& how,
                               const std::vector<std::string>& damaged) {
  Experiment experiment = small_experiment(folder);
  experiment.space = {
      {"x", constant(1.0)}, {"how", constant(how)}, {"damaged", constant(Json(damaged))}};
  experiment.stop = {{"training_iteration", 8}};
  experiment.checkpoint = {.every = 1, .keep = 3};
  experiment.failure.max_failures = 1;
  return experiment;
}

std::string driver_log(const TemporaryFolder& folder) {
  return read_text(folder.path() / "run" / "driver.log");
}

TEST_CASE("FA-08: a trial goes on from the checkpoint before a damaged one", "[FA-08]") {
  const std::string how = GENERATE("cut off", "one byte", "no file", "no directory");
  CAPTURE(how);
  const TemporaryFolder folder;
  Experiment experiment = damaging_experiment(folder, how, {"checkpoint_000006"});
  const ResultGrid results = tune_run<Damaging>(experiment);
  REQUIRE(results.size() == 1);
  const TrialResult& trial = results[0];
  CHECK(trial.state == TrialState::terminated);
  CHECK(iterations(trial) == counted_to(8));
  CHECK(trial.metrics.at("steps") == MetricValue(8));
  CHECK(read_lines(trial.path / "loads") == std::vector<std::string>{"5"});
  CHECK_THAT(driver_log(folder), Catch::Contains("checkpoint_000006 of trial 00000 is damaged") &&
                                     Catch::Contains("goes back to checkpoint_000005"));
  // It is left for the user to look at, and is none that can be used.
  CHECK(fs::exists(trial.path / "checkpoint_000006") == (how != "no directory"));
  std::vector<std::string> kept;
  for (const Checkpoint& checkpoint : trial.checkpoints) {
    kept.push_back(checkpoint.path.filename().string());
  }
  CHECK(kept ==
        std::vector<std::string>{"checkpoint_000006_3", "checkpoint_000007", "checkpoint_000008"});
}

TEST_CASE("FA-08: a trial whose checkpoints are all damaged is an error", "[FA-08]") {
  const TemporaryFolder folder;
  Experiment experiment = damaging_experiment(
      folder, "cut off", {"checkpoint_000004", "checkpoint_000005", "checkpoint_000006"});
  experiment.failure.max_failures = -1;
  const ResultGrid results = tune_run<Damaging>(experiment);
  REQUIRE(results.size() == 1);
  const TrialResult& trial = results[0];
  CHECK(trial.state == TrialState::error);
  CHECK_THAT(trial.error, Catch::Contains("no usable checkpoint: checkpoint_000004 of trial 00000 "
                                          "is damaged: weights: 50000 bytes, want 100000"));
  CHECK(read_lines(trial.path / "loads").empty());
  CHECK(iterations(trial) == counted_to(6));
  CHECK(trial.checkpoints.empty());
  for (const char* name : {"checkpoint_000004", "checkpoint_000005", "checkpoint_000006"}) {
    CHECK(fs::exists(trial.path / name));
  }
}

/// Lets trial 1 take over from trial 0, which damages its checkpoint before and waits meanwhile.
class ClonesDamaged final : public TestScheduler {
 public:
  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override {
    if (trial.id() == TrialId{0} && result.training_iteration == 3) return Decision::pause;
    if (trial.id() == TrialId{1} && result.training_iteration == 2) {
      context.exploit(TrialId{1}, TrialId{0}, Config(Json{{"x", 7.0}}));
    }
    return Decision::proceed;
  }
  void on_trial_completed(SchedulerContext& context, const Trial& trial, const Result&) override {
    if (trial.id() == TrialId{1}) context.unpause(TrialId{0});
  }
  [[nodiscard]] bool needs_checkpoints() const override { return true; }
};

/// Trial 1 cuts off, in its first step, what trial 0 has stored.
class CutsOffTheOther final : public Descent {
 public:
  Metrics step() override {
    if (context().trial_id == TrialId{1}) {
      for (const auto& entry : fs::directory_iterator(context().trial_dir.parent_path())) {
        const fs::path file = entry.path() / "checkpoint_000003" / "state";
        if (fs::exists(file)) fs::resize_file(file, 1);
      }
    }
    return Descent::step();
  }
};

TEST_CASE("a clone of a damaged checkpoint is cancelled, and its trial goes on", "[checkpoints]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.local = {.cpus = 1};
  experiment.space = {{"x", uniform(1, 2)}};
  experiment.num_samples = 2;
  experiment.stop = {{"training_iteration", 4}};
  experiment.checkpoint = {.every = 1, .keep = 2};
  experiment.scheduler = std::make_unique<ClonesDamaged>();
  const ResultGrid results = tune_run<CutsOffTheOther>(experiment);
  REQUIRE(results.size() == 2);
  for (const TrialResult& trial : results) {
    CHECK(trial.state == TrialState::terminated);
    CHECK(iterations(trial) == counted_to(4));
    CHECK(trial.metrics.at("steps") == MetricValue(4));
  }
  CHECK(results[1].config["x"].get<double>() < 7);
  CHECK_THAT(driver_log(folder), Catch::Contains("checkpoint_000003 of trial 00000 is damaged") &&
                                     Catch::Contains("it is not taken over"));
}

TEST_CASE("the best checkpoints stay on disk beside the newest", "[checkpoints]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", constant(1.0)}};
  experiment.metric = "loss";
  experiment.mode = Mode::max;  // so that the first is the best
  experiment.stop = {{"training_iteration", 9}};
  experiment.checkpoint = {.every = 2, .keep = 1, .keep_best = 2};
  const ResultGrid results = tune_run<Descent>(experiment);
  std::vector<std::int64_t> kept;
  for (const Checkpoint& checkpoint : results[0].checkpoints) {
    kept.push_back(checkpoint.training_iteration);
    CHECK(fs::exists(checkpoint.path / "state"));
  }
  CHECK(kept == std::vector<std::int64_t>{2, 4, 8});
  CHECK_FALSE(fs::exists(results[0].path / "checkpoint_000006"));
}

}  // namespace
}  // namespace tune::test
