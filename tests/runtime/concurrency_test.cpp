#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/callback.hpp>
#include <tune/track.hpp>
#include <tune/tune_run.hpp>

#include "run_support.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

/// Has a file "inside" while it runs, and reports three times how many trials have one. The first
/// of them wait until there are as many as there may be.
void report_crowd(const Config& config) {
  const fs::path dir = track::context().trial_dir;
  add_line(dir / "inside", "yes");
  add_line(dir / "came", "yes");
  wait_until(
      [&] { return count_trials_with("came", dir.parent_path()) >= config["limit"].get<int>(); });
  for (int i = 0; i < 3; ++i) {
    track::report({{"inside", count_trials_with("inside", dir.parent_path())}});
  }
  fs::remove(dir / "inside");
}

/// Runs 12 trials of which `limit` may run at once, and returns the most that ever did.
std::int64_t run_crowd(Experiment& experiment, int limit) {
  experiment.space = {{"x", uniform(0, 1)}, {"limit", constant(limit)}};
  experiment.num_samples = 12;
  const ResultGrid results = tune_run(report_crowd, experiment);
  CHECK(results.size() == 12);
  CHECK(results.errors().empty());
  std::int64_t most = 0;
  for (const TrialResult& trial : results) {
    for (const Result& result : trial.history()) {
      most = std::max(most, std::get<std::int64_t>(result.metrics.at("inside").variant()));
    }
  }
  return most;
}

TEST_CASE("max_concurrent is reached and never exceeded", "[concurrency]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.local = {.cpus = 8};
  experiment.max_concurrent = 3;
  CHECK(run_crowd(experiment, 3) == 3);
}

TEST_CASE("RS-04: a custom resource bounds the trials that use it", "[RS-04]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.local = {.cpus = 8, .custom = {{"license", 2}}};
  experiment.resources = {.cpu = 0.5, .custom = {{"license", 1}}};
  CHECK(run_crowd(experiment, 2) == 2);
}

TEST_CASE("as many trials run at once as there are slots", "[concurrency]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.local = {.cpus = 4};
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.num_samples = 4;
  const ResultGrid results = tune_run(
      [](const Config&) {
        const fs::path dir = track::context().trial_dir;
        add_line(dir / "here", "yes");
        const bool came =
            wait_until([&] { return count_trials_with("here", dir.parent_path()) == 4; });
        if (!came) throw std::runtime_error("the others did not come");
        track::report({{"x", 1}});
      },
      experiment);
  CHECK(results.errors().empty());
}

TEST_CASE("SE-02: the same seed gives the same configurations on 1 and 4 slots", "[SE-02]") {
  const TemporaryFolder folder;
  std::vector<std::vector<std::string>> runs;
  for (const double cpus : {1.0, 4.0}) {
    Experiment experiment = small_experiment(folder);
    experiment.name = "on_" + std::to_string(static_cast<int>(cpus));
    experiment.local = {.cpus = cpus};
    experiment.space = {
        {"x", uniform(0, 1)}, {"n", randint(0, 1000)}, {"mode", grid_search({"a", "b"})}};
    experiment.num_samples = 8;
    const ResultGrid results = tune_run(
        [](const Config&) {
          track::report({{"x", 1}});
        },
        experiment);
    auto& configs = runs.emplace_back();
    for (const TrialResult& trial : results) configs.push_back(trial.config.dump());
  }
  CHECK(runs[0].size() == 16);
  CHECK(runs[0] == runs[1]);
}

void report_name(const Config&) { track::report({{"name", track::context().experiment_name}}); }

/// An experiment of 20 trials.
Experiment named(const std::string& name, const TemporaryFolder& folder) {
  Experiment experiment = small_experiment(folder);
  experiment.name = name;
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.num_samples = 20;
  return experiment;
}

/// True if each trial reported the name of its own experiment.
bool are_all(const ResultGrid& results, const std::string& name) {
  for (const TrialResult& trial : results) {
    if (trial.metrics != Metrics{{"name", name}}) return false;
  }
  return results.size() == 20;
}

TEST_CASE("experiments run side by side", "[concurrency]") {
  const TemporaryFolder folder;
  ResultGrid other;
  std::thread thread([&] { other = tune_run(report_name, named("other", folder)); });
  const ResultGrid mine = tune_run(report_name, named("mine", folder));
  thread.join();
  CHECK(are_all(mine, "mine"));
  CHECK(are_all(other, "other"));
}

TEST_CASE("an experiment runs within another", "[concurrency]") {
  const TemporaryFolder folder;
  const ResultGrid outer = tune_run(
      [](const Config& config) {
        if (track::context().trial_id == TrialId{0}) {
          const TemporaryFolder inner_folder;
          const ResultGrid inner = tune_run(report_name, named("inner", inner_folder));
          if (!are_all(inner, "inner")) throw std::runtime_error("the inner experiment went wrong");
        }
        report_name(config);
      },
      named("outer", folder));
  CHECK(are_all(outer, "outer"));
  for (const TrialResult& trial : outer) CHECK(trial.error.empty());
}

TEST_CASE("two thousand short trials come and go", "[concurrency]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.local = {.cpus = 8};
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.num_samples = 2000;
  const ResultGrid results = tune_run(
      [](const Config& config) {
        track::report({{"x", config["x"].get<double>()}});
      },
      experiment);
  REQUIRE(results.size() == 2000);
  CHECK(results.errors().empty());
  for (const TrialResult& trial : results) {
    if (trial.training_iteration != 1) FAIL(trial.name);
  }
}

/// Reports 3000 times, and writes a byte after each report.
void report_and_count(const Config&) {
  std::ofstream told(track::context().trial_dir / "told");
  for (int i = 1; i <= 3000; ++i) {
    track::report({{"x", i}});
    told << '.' << std::flush;
  }
}

/// Goes on from the first result only when the trial has told 255 results.
class SlowCallback final : public Callback {
 public:
  void on_trial_result(const TrialInfo& trial, const Result& result) override {
    const auto unseen = [&] {
      return static_cast<std::int64_t>(fs::file_size(trial.path / "told")) - seen;
    };
    if (result.training_iteration == 1) got_ahead = wait_until([&] { return unseen() >= 255; });
    most_unseen = std::max(most_unseen, unseen());
    if (result.training_iteration != ++seen) in_order = false;
  }
  std::int64_t seen = 0;
  std::int64_t most_unseen = 0;
  bool in_order = true;
  bool got_ahead = false;
};

TEST_CASE("a slow callback holds its trial back and loses nothing", "[concurrency]") {
  const TemporaryFolder folder;
  const auto callback = std::make_shared<SlowCallback>();
  Experiment experiment = small_experiment(folder);
  experiment.callbacks = {callback};
  const ResultGrid results = tune_run(report_and_count, experiment);
  CHECK(callback->in_order);
  CHECK(callback->seen == 3000);
  CHECK(iterations(results[0]) == counted_to(3000));
  CHECK(callback->got_ahead);
  CHECK(callback->most_unseen <= 2600);  // 4000 records, two a result, and one trial's credit
}

}  // namespace
}  // namespace tune::test
