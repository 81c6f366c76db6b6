#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/callback.hpp>
#include <tune/registry.hpp>
#include <tune/scheduler.hpp>
#include <tune/schedulers/asha.hpp>
#include <tune/searcher.hpp>
#include <tune/stop.hpp>
#include <tune/track.hpp>
#include <tune/tune_run.hpp>

#include "run_support.hpp"
#include "support/gate.hpp"

namespace tune::test {
namespace {

/// Reports values that a configuration names: `first` up to iteration `until`, then `then`.
void report_as_told(const Config& config) {
  for (int i = 1; i <= 200; ++i) {
    track::report({{"score", i <= config["until"].get<int>() ? config["first"].get<int>()
                                                             : config["then"].get<int>()}});
  }
}

TEST_CASE("SC-03: a trial is stopped exactly at its milestone", "[SC-03]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.local = {.cpus = 1};
  experiment.space = {
      {"first", randint(0, 100)}, {"then", randint(0, 100)}, {"until", randint(0, 200)}};
  experiment.metric = "score";
  experiment.mode = Mode::max;
  experiment.num_samples = 4;
  experiment.points_to_evaluate = {
      {{"first", 50}, {"then", 50}, {"until", 1}},    // the first: goes on everywhere
      {{"first", 10}, {"then", 10}, {"until", 1}},    // worse at 10
      {{"first", 60}, {"then", 10}, {"until", 20}},   // worse at 40
      {{"first", 60}, {"then", 10}, {"until", 100}},  // worse at 160
  };
  experiment.scheduler = asha({.max_t = 200, .grace_period = 10, .reduction_factor = 4});
  const ResultGrid results = tune_run(report_as_told, experiment);
  REQUIRE(results.size() == 4);
  CHECK(iterations(results[0]) == counted_to(200));
  CHECK(iterations(results[1]) == counted_to(10));
  CHECK(iterations(results[2]) == counted_to(40));
  CHECK(iterations(results[3]) == counted_to(160));
  CHECK(results[1].history().back().done);
}

TEST_CASE("ME-09: scheduler and searcher may look at metrics of their own", "[ME-09]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.local = {.cpus = 1};
  experiment.space = {{"acc", grid_search({0.5, 0.9, 0.7, 0.1})}};
  experiment.metric = "acc";
  experiment.mode = Mode::max;
  experiment.scheduler = asha(
      {.metric = "loss", .mode = Mode::min, .max_t = 4, .grace_period = 2, .reduction_factor = 2});
  const ResultGrid results = tune_run(
      [](const Config& config) {
        const double acc = config["acc"].get<double>();
        for (int i = 0; i < 4; ++i) track::report({{"acc", acc}, {"loss", 1 - acc}});
      },
      experiment);
  REQUIRE(results.size() == 4);
  CHECK(results.best().config["acc"].get<double>() == 0.9);
  CHECK(results.best().training_iteration == 4);
  CHECK(results[3].training_iteration == 2);  // the worst of all is stopped at the first rung
}

/// Pauses each trial after its second iteration; the first goes on when the second has paused, the
/// second when the first has ended.
class Alternating final : public TestScheduler {
 public:
  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override {
    if (result.training_iteration != 2) return Decision::proceed;
    if (trial.id() == TrialId{1}) context.unpause(TrialId{0});
    return Decision::pause;
  }
  void on_trial_completed(SchedulerContext& context, const Trial& trial, const Result&) override {
    if (trial.id() == TrialId{0}) context.unpause(TrialId{1});
  }
  [[nodiscard]] bool needs_checkpoints() const override { return true; }
};

void train_with_checkpoints(const Config&) {
  int step = 0;
  if (const auto from = track::checkpoint()) std::ifstream(*from / "step") >> step;
  while (step < 4) {
    ++step;
    track::report({{"step", step}},
                  [&](const std::filesystem::path& dir) { std::ofstream(dir / "step") << step; });
  }
}

TUNE_REGISTER_FUNCTION(train_with_checkpoints, {.checkpoints = true})

TEST_CASE("paused trials go on where they were", "[decisions]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.local = {.cpus = 1};
  experiment.space = {{"x", uniform(1, 2)}};
  experiment.num_samples = 2;
  experiment.scheduler = std::make_unique<Alternating>();
  ResultGrid results;
  std::string steps;
  SECTION("class") {
    experiment.stop = {{"training_iteration", 4}};
    results = tune_run<Descent>(experiment);
    steps = "steps";
  }
  SECTION("function") {
    results = tune_run(train_with_checkpoints, experiment);
    steps = "step";
  }
  REQUIRE(results.size() == 2);
  for (const TrialResult& trial : results) {
    CHECK(trial.state == TrialState::terminated);
    CHECK(iterations(trial) == counted_to(4));
    for (const Result& result : trial.history()) {
      CHECK(result.metrics.at(steps) == MetricValue(result.training_iteration));
    }
    double total = 0;
    for (const Result& result : trial.history()) total += result.time_this_iter_s;
    CHECK(trial.time_total_s == Approx(total));
  }
}

/// Pauses trial 0 after its third iteration; trial 1 takes over from it at its own second one, and
/// when it has ended, trial 0 goes on.
class TakesOver final : public TestScheduler {
 public:
  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override {
    if (trial.id() == TrialId{0}) {
      return result.training_iteration == 3 ? Decision::pause : Decision::proceed;
    }
    if (result.training_iteration == 2) {
      context.exploit(TrialId{1}, TrialId{0}, Config(Json{{"x", 7.0}}));
    }
    return Decision::proceed;
  }
  void on_trial_completed(SchedulerContext& context, const Trial& trial, const Result&) override {
    if (trial.id() == TrialId{1}) context.unpause(TrialId{0});
  }
  [[nodiscard]] bool needs_checkpoints() const override { return true; }
};

TEST_CASE("a trial goes on from another's checkpoint with its own counters", "[decisions]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.local = {.cpus = 1};
  experiment.space = {{"x", uniform(1, 2)}};
  experiment.num_samples = 2;
  experiment.stop = {{"training_iteration", 4}};
  experiment.scheduler = std::make_unique<TakesOver>();
  const ResultGrid results = tune_run<Descent>(experiment);
  REQUIRE(results.size() == 2);
  CHECK(iterations(results[0]) == counted_to(4));
  CHECK(iterations(results[1]) == counted_to(4));
  // After its own two steps it is where the donor was after three.
  std::vector<std::int64_t> steps;
  for (const Result& result : results[1].history()) {
    steps.push_back(std::get<std::int64_t>(result.metrics.at("steps").variant()));
  }
  CHECK(steps == std::vector<std::int64_t>{1, 2, 4, 5});
}

/// Stops trial 0 upon the first result of trial 1.
class StopsTheOther final : public TestScheduler {
 public:
  Decision on_trial_result(SchedulerContext& context, const Trial& trial, const Result&) override {
    if (trial.id() == TrialId{1}) context.stop(TrialId{0});
    return Decision::proceed;
  }
};

TEST_CASE("a stop reaches a trial while its step runs", "[decisions]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"id", grid_search({0, 1})}};
  experiment.scheduler = std::make_unique<StopsTheOther>();
  const ResultGrid results = tune_run(
      [](const Config& config) {
        const std::filesystem::path dir = track::context().trial_dir;
        if (config["id"].get<int>() == 0) {
          add_line(dir / "runs", "yes");
          wait_until(track::should_stop);
        } else {
          wait_until([&] { return count_trials_with("runs", dir.parent_path()) == 1; });
        }
        track::report({{"x", 1}});
      },
      experiment);
  REQUIRE(results.size() == 2);
  CHECK(results[0].state == TrialState::terminated);
  CHECK(results[0].reason == "stopped by test");
  CHECK(results[0].training_iteration == 1);
  CHECK(results[1].state == TrialState::terminated);
}

TEST_CASE("a step that ignores a stop is abandoned and tune_run returns", "[decisions][threads]") {
  // The abandoned thread may still be in them when the test ends.
  static Gate first_runs;
  static Gate leave;
  static Gate left;
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"id", grid_search({0, 1})}};
  experiment.scheduler = std::make_unique<StopsTheOther>();
  experiment.stop_grace = std::chrono::milliseconds(1);
  const ResultGrid results = tune_run(
      [](const Config& config) {
        if (config["id"].get<int>() == 0) {
          first_runs.open();
          leave.wait();
          left.open();
        } else {
          first_runs.wait();
        }
        track::report({{"x", 1}});
      },
      experiment);
  REQUIRE(results.size() == 2);
  CHECK(results[0].state == TrialState::error);
  CHECK_THAT(results[0].error, Catch::Contains("did not end within 0.001 s"));
  CHECK(results[0].training_iteration == 0);
  CHECK(results[1].state == TrialState::terminated);
  leave.open();
  left.wait();
}

TEST_CASE("a function that goes on after it said done is abandoned", "[decisions][threads]") {
  static Gate leave;
  static Gate left;
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.stop_grace = std::chrono::milliseconds(1);
  const ResultGrid results = tune_run(
      [](const Config&) {
        try {
          track::report({{"x", 1}, {"done", true}});
        } catch (...) {
          leave.wait();
        }
        left.open();
      },
      experiment);
  REQUIRE(results.size() == 1);
  CHECK(results[0].state == TrialState::error);
  CHECK_THAT(results[0].error, Catch::Contains("did not end within 0.001 s"));
  CHECK(results[0].training_iteration == 1);
  leave.open();
  left.wait();
}

/// Says that it is done, and does not come out of cleanup() before the test lets it.
class HangsInCleanup : public Trainable {
 public:
  Metrics step() override { return {{"x", 1}, {"done", true}}; }
  void cleanup() override {
    leave.wait();
    left.open();
  }

  static inline Gate leave;
  static inline Gate left;
};

TEST_CASE("a cleanup that hangs does not keep tune_run", "[decisions][threads]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.stop_grace = std::chrono::milliseconds(1);
  const ResultGrid results = tune_run<HangsInCleanup>(experiment);
  REQUIRE(results.size() == 1);
  CHECK(results[0].state == TrialState::error);
  CHECK(results[0].training_iteration == 1);
  HangsInCleanup::leave.open();
  HangsInCleanup::left.wait();
}

TEST_CASE("a time budget ends the experiment", "[decisions]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.num_samples = -1;
  experiment.time_budget = std::chrono::milliseconds(20);
  const ResultGrid results = tune_run(
      [](const Config&) {
        wait_until(track::should_stop);
        track::report({{"x", 1}});
      },
      experiment);
  CHECK(results.size() == 2);
  CHECK_THAT(results.experiment_end().reason, Catch::Contains("time budget of 0.02 s"));
  CHECK(results.experiment_end().error.empty());
  for (const TrialResult& trial : results) CHECK(trial.state == TrialState::terminated);
}

TEST_CASE("a trial stops below a bound and by a function", "[decisions]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", constant(1.0)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  SECTION("below") {
    experiment.stop = below("loss", 0.125);
    const ResultGrid results = tune_run<Descent>(experiment);
    CHECK(iterations(results[0]) == counted_to(3));
    CHECK_THAT(results[0].reason, Catch::Contains("loss"));
  }
  SECTION("function") {
    experiment.stop = stop_when(
        [](const Trial&, const Result& result) { return result.training_iteration == 5; });
    const ResultGrid results = tune_run<Descent>(experiment);
    CHECK(iterations(results[0]) == counted_to(5));
  }
}

/// Looks at each checkpoint that it hears of.
class LooksAtCheckpoints final : public Callback {
 public:
  void on_trial_checkpoint(const TrialInfo&, const Checkpoint& checkpoint) override {
    ++heard;
    found += std::filesystem::exists(checkpoint.path / "state") ? 1 : 0;
  }
  int heard = 0;
  int found = 0;
};

TEST_CASE("a checkpoint is there as long as a callback hears of it", "[decisions]") {
  const TemporaryFolder folder;
  const auto callback = std::make_shared<LooksAtCheckpoints>();
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", constant(1.0)}};
  experiment.checkpoint = {.every = 1, .keep = 1};
  experiment.stop = {{"training_iteration", 20}};
  experiment.callbacks = {callback};
  const ResultGrid results = tune_run<Descent>(experiment);
  CHECK(callback->heard == 20);
  CHECK(callback->found == 20);
  CHECK(results[0].checkpoints.size() == 1);
  CHECK_FALSE(std::filesystem::exists(results[0].path / "checkpoint_000019"));
}

TEST_CASE("a trial that ends well saves at its end if asked", "[decisions]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", constant(1.0)}};
  experiment.checkpoint.at_end = true;
  experiment.stop = {{"training_iteration", 5}};
  const ResultGrid results = tune_run<Descent>(experiment);
  REQUIRE(results[0].checkpoint);
  CHECK(results[0].checkpoint->training_iteration == 5);
  CHECK(results[0].checkpoints.size() == 1);
}

}  // namespace
}  // namespace tune::test
