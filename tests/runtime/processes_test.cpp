#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <set>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/scheduler.hpp>
#include <tune/schedulers/asha.hpp>
#include <tune/track.hpp>
#include <tune/tune_run.hpp>

#include "captured_output.hpp"
#include "process_experiment.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

/// Tells in which process it runs, and counts what this process has served.
class TellsWhere : public Trainable {
 public:
  void setup(const Config& config) override { x_ = config["x"].get<double>(); }
  Metrics step() override {
    static int trials_here = 0;
    if (step_++ == 0) ++trials_here;
    x_ /= 2;
    return {
        {"loss", x_}, {"process", static_cast<std::int64_t>(::getpid())}, {"here", trials_here}};
  }
  void save_checkpoint(const fs::path& dir) override {
    std::ofstream out(dir / "state");
    out.precision(17);
    out << x_;
  }
  void load_checkpoint(const fs::path& dir) override { std::ifstream(dir / "state") >> x_; }

 private:
  double x_ = 0;
  int step_ = 0;
};

std::int64_t process_of(const TrialResult& trial) {
  return std::get<std::int64_t>(trial.metrics.at("process").variant());
}

TEST_CASE("trials run in processes of their own, which serve one after the other", "[processes]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.space = {{"x", uniform(1, 2)}};
  experiment.num_samples = 8;
  experiment.stop = {{"training_iteration", 3}};
  SECTION("reused") {
    const ResultGrid results = tune_run<TellsWhere>(experiment);
    std::set<std::int64_t> processes;
    for (const TrialResult& trial : results) {
      CHECK(trial.state == TrialState::terminated);
      CHECK(iterations(trial) == counted_to(3));
      processes.insert(process_of(trial));
    }
    CHECK(results.size() == 8);
    CHECK(processes.size() <= 2);
    CHECK(processes.count(::getpid()) == 0);
  }
  SECTION("a fresh one for each trial") {
    experiment.reuse_workers = false;
    for (const TrialResult& trial : tune_run<TellsWhere>(experiment)) {
      CHECK(trial.metrics.at("here") == MetricValue(1));
    }
  }
}

TEST_CASE("threads and processes give the same results", "[processes]") {
  const TemporaryFolder folder;
  const auto run = [&](Isolation isolation) {
    Experiment experiment = process_experiment(folder);
    experiment.name = isolation == Isolation::threads ? "threads" : "processes";
    experiment.isolation = isolation;
    experiment.space = {{"x", loguniform(1e-3, 1e3)}};
    experiment.metric = "loss";
    experiment.mode = Mode::min;
    experiment.num_samples = 20;
    experiment.max_concurrent = 1;
    experiment.scheduler = asha({.max_t = 9, .grace_period = 1, .reduction_factor = 3});
    experiment.checkpoint = {.every = 2, .keep = 1, .at_end = true};
    return tune_run<TellsWhere>(experiment);
  };
  const ResultGrid threads = run(Isolation::threads);
  const ResultGrid processes = run(Isolation::processes);
  REQUIRE(threads.size() == processes.size());
  CHECK(threads.best().config == processes.best().config);
  for (std::size_t i = 0; i < threads.size(); ++i) {
    CHECK(threads[i].config == processes[i].config);
    CHECK(threads[i].reason == processes[i].reason);
    CHECK(threads[i].training_iteration == processes[i].training_iteration);
    CHECK(threads[i].metrics.at("loss") == processes[i].metrics.at("loss"));
    REQUIRE(threads[i].checkpoint);
    REQUIRE(processes[i].checkpoint);
    CHECK(threads[i].checkpoint->path.filename() == processes[i].checkpoint->path.filename());
    CHECK(read_text(threads[i].checkpoint->path / "state") ==
          read_text(processes[i].checkpoint->path / "state"));
  }
}

TEST_CASE("values come through a process as they are", "[processes]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.space = {{"tiny", constant(5e-324)}, {"list", constant(Json{1, 1.0, "1", true})}};
  const ResultGrid results = tune_run(
      [](const Config& config) {
        track::report({{"nan", std::nan("")},
                       {"inf", -std::numeric_limits<double>::infinity()},
                       {"zero", -0.0},
                       {"third", 1.0 / 3},
                       {"big", std::numeric_limits<std::int64_t>::min()},
                       {"flag", true},
                       {"one", 1},
                       {"text", "\xff ü"},
                       {"tiny", config["tiny"].get<double>()}});
      },
      experiment);
  REQUIRE(results.size() == 1);
  CHECK(results[0].config == Config(Json{{"tiny", 5e-324}, {"list", {1, 1.0, "1", true}}}));
  const Metrics metrics = results[0].metrics;
  CHECK(std::isnan(metrics.at("nan").as_double()));
  CHECK(metrics.at("inf").as_double() == -std::numeric_limits<double>::infinity());
  CHECK(std::signbit(metrics.at("zero").as_double()));
  CHECK(metrics.at("third") == MetricValue(1.0 / 3));
  CHECK(metrics.at("big") == MetricValue(std::numeric_limits<std::int64_t>::min()));
  CHECK(metrics.at("flag") == MetricValue(true));
  CHECK(metrics.at("one") == MetricValue(1));
  CHECK(metrics.at("tiny") == MetricValue(5e-324));
}

/// Pauses trial 0 at its second result, to run it again at once.
class PausesTheFirst final : public TestScheduler {
 public:
  Decision on_trial_result(SchedulerContext&, const Trial& trial, const Result& result) override {
    const bool pauses = trial.id() == TrialId{0} && result.training_iteration == 2;
    return pauses ? Decision::pause : Decision::proceed;
  }
  std::optional<TrialId> choose_trial_to_run(SchedulerContext& context) override {
    for (const auto& [id, trial] : context.live_trials()) {
      if (trial.state() == TrialState::paused) return id;
    }
    return TestScheduler::choose_trial_to_run(context);
  }
  [[nodiscard]] bool needs_checkpoints() const override { return true; }
};

TEST_CASE("a trial pauses in one process and goes on in another", "[processes]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.space = {{"x", grid_search({8.0, 16.0})}};
  experiment.stop = {{"training_iteration", 4}};
  experiment.reuse_workers = false;
  experiment.scheduler = std::make_unique<PausesTheFirst>();
  const ResultGrid results = tune_run<TellsWhere>(experiment);
  CHECK(iterations(results[0]) == counted_to(4));
  CHECK(results[0].metrics.at("loss") == MetricValue(0.5));
  const auto history = results[0].history();
  REQUIRE(history.size() == 4);
  CHECK_FALSE(history[1].metrics.at("process") == history[2].metrics.at("process"));
}

TEST_CASE("what a trial prints is in its directory, and nothing of another's", "[processes]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.space = {{"x", grid_search({1, 2, 3, 4})}};
  const ResultGrid results = tune_run(
      [](const Config& config) {
        const std::string x = std::to_string(config["x"].get<int>());
        std::cout << "out " << x << " first\n"
                  << "out " << x << " without an end";
        std::cerr << "err " << x << '\n';
        track::report({{"x", 1}});
      },
      experiment);
  for (const TrialResult& trial : results) {
    const std::string x = std::to_string(trial.config["x"].get<int>());
    CHECK(read_text(trial.path / "stdout") == "out " + x + " first\nout " + x + " without an end");
    CHECK(read_text(trial.path / "stderr") == "err " + x + "\n");
  }
}

TEST_CASE("LO-07: what trials print is in their files alone", "[LO-07]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.num_samples = 100;
  const auto [out, err] = output_of([&] {
    (void)tune_run(
        [](const Config&) {
          for (int i = 0; i < 1000; ++i) std::cout << std::string(99, 'y') << '\n';
          track::report({{"x", 1}});
        },
        experiment);
  });
  CHECK(out.empty());
  CHECK(err.find("yyy") == std::string::npos);
  const fs::path run = folder.path() / "run";
  CHECK(read_text(run / "driver.log").find("yyy") == std::string::npos);
  CHECK(fs::file_size(run / "driver.log") < 100'000);
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(run)) {
    if (entry.path().filename() == "stdout") bytes += entry.file_size();
  }
  CHECK(bytes == 100 * 1000 * 100);
}

TEST_CASE("what trials print is shown on request, with their numbers", "[processes]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.space = {{"x", grid_search({1, 2})}};
  experiment.show_output = true;
  const auto [out, err] = output_of([&] {
    (void)tune_run(
        [](const Config& config) {
          std::cout << "x is " << config["x"].get<int>() << '\n';
          std::cerr << "to stderr\n";
          track::report({{"x", 1}});
        },
        experiment);
  });
  CHECK(out.empty());
  CHECK_THAT(err, Catch::Contains("(00000) x is 1\n") && Catch::Contains("(00001) x is 2\n") &&
                      Catch::Contains("(00001 stderr) to stderr\n"));
}

TEST_CASE("a program or function that worker processes cannot have is refused", "[processes]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  const int captured = 1;
  CHECK_THROWS_WITH(
      tune_run(
          [captured](const Config&) {
            track::report({{"x", captured}});
          },
          experiment),
      Catch::Contains("TUNE_REGISTER_FUNCTION") && Catch::Contains("Isolation::threads"));
  CHECK(fs::is_empty(folder.path()));
}

}  // namespace
}  // namespace tune::test
