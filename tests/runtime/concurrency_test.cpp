#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/callback.hpp>
#include <tune/track.hpp>
#include <tune/tune_run.hpp>

#include "run_support.hpp"
#include "support/gate.hpp"

namespace tune::test {
namespace {

/// How many are inside at once, and the most that ever were.
class Crowd {
 public:
  void enter() {
    const int now = ++inside_;
    int most = most_;
    while (now > most && !most_.compare_exchange_weak(most, now)) {
    }
  }
  void leave() { --inside_; }
  [[nodiscard]] int most() const { return most_; }

 private:
  std::atomic<int> inside_{0};
  std::atomic<int> most_{0};
};

/// Runs 12 trials of three reports each, and returns the most that ran at once.
int run_crowd(Experiment& experiment) {
  Crowd crowd;
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.num_samples = 12;
  const ResultGrid results = tune_run(
      [&](const Config&) {
        crowd.enter();
        for (int i = 0; i < 3; ++i) {
          std::this_thread::yield();
          track::report({{"x", i}});
        }
        crowd.leave();
      },
      experiment);
  CHECK(results.size() == 12);
  CHECK(results.errors().empty());
  return crowd.most();
}

TEST_CASE("max_concurrent is never exceeded", "[concurrency][threads]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.local = {.cpus = 8};
  experiment.max_concurrent = 3;
  CHECK(run_crowd(experiment) <= 3);
}

TEST_CASE("RS-04: a custom resource bounds the trials that use it", "[RS-04][threads]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.local = {.cpus = 8, .custom = {{"license", 2}}};
  experiment.resources = {.cpu = 0.5, .custom = {{"license", 1}}};
  CHECK(run_crowd(experiment) <= 2);
}

TEST_CASE("as many trials run at once as there are slots", "[concurrency][threads]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.local = {.cpus = 4};
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.num_samples = 4;
  std::atomic<int> here{0};
  Gate all_here;
  const ResultGrid results = tune_run(
      [&](const Config&) {
        if (++here == 4) all_here.open(4);
        all_here.wait();
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

TEST_CASE("experiments run side by side and within one another", "[concurrency][threads]") {
  const TemporaryFolder folder;
  const auto search = [&](const std::string& name, auto function) {
    Experiment experiment = small_experiment(folder);
    experiment.name = name;
    experiment.space = {{"x", uniform(0, 1)}};
    experiment.num_samples = 20;
    return tune_run(function, experiment);
  };
  const auto report_name = [](const Config&) {
    track::report({{"name", track::context().experiment_name}});
  };
  const auto all_are = [](const ResultGrid& results, const std::string& name) {
    for (const TrialResult& trial : results) {
      if (trial.metrics != Metrics{{"name", name}}) return false;
    }
    return results.size() == 20;
  };
  SECTION("side by side") {
    ResultGrid other;
    std::thread thread([&] { other = search("other", report_name); });
    const ResultGrid mine = search("mine", report_name);
    thread.join();
    CHECK(all_are(mine, "mine"));
    CHECK(all_are(other, "other"));
  }
  SECTION("one within another") {
    ResultGrid inner;
    std::once_flag once;
    const ResultGrid outer = search("outer", [&](const Config& config) {
      std::call_once(once, [&] { inner = search("inner", report_name); });
      report_name(config);
    });
    CHECK(all_are(inner, "inner"));
    CHECK(all_are(outer, "outer"));
  }
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

class SlowCallback final : public Callback {
 public:
  void on_trial_result(const TrialInfo&, const Result& result) override {
    if (result.training_iteration == 1) may_go_on.wait();
    if (result.training_iteration != ++seen) in_order = false;
  }
  Gate may_go_on;
  std::atomic<std::int64_t> seen{0};
  std::atomic<bool> in_order{true};
};

TEST_CASE("a slow callback holds its trial back and loses nothing", "[concurrency][threads]") {
  const TemporaryFolder folder;
  const auto callback = std::make_shared<SlowCallback>();
  Experiment experiment = small_experiment(folder);
  experiment.callbacks = {callback};
  std::int64_t most_unseen = 0;
  const ResultGrid results = tune_run(
      [&](const Config&) {
        for (std::int64_t told = 1; told <= 3000; ++told) {
          // The callback is let go only when the trial could not have told more without it.
          if (told == 256) callback->may_go_on.open();
          track::report({{"x", told}});
          most_unseen = std::max(most_unseen, told - callback->seen);
        }
      },
      experiment);
  CHECK(callback->in_order);
  CHECK(callback->seen == 3000);
  CHECK(iterations(results[0]) == counted_to(3000));
  CHECK(most_unseen >= 255);
  CHECK(most_unseen <= 256);
}

}  // namespace
}  // namespace tune::test
