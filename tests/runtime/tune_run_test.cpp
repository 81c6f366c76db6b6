#include <tune/tune_run.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/schedulers/asha.hpp>
#include <tune/searchers/random.hpp>
#include <tune/track.hpp>

#include "captured_output.hpp"
#include "run_support.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

void train_down(const Config& config) {
  double x = config["x"].get<double>();
  for (int i = 0; i < 4; ++i) track::report({{"loss", x /= 2}});
}

TUNE_REGISTER_TRAINABLE(Descent)
TUNE_REGISTER_FUNCTION(train_down)

TEST_CASE("a class is searched from end to end", "[tune_run]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", uniform(1, 2)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.num_samples = 5;
  experiment.stop = {{"training_iteration", 3}};
  experiment.checkpoint = {.every = 1, .keep = 2};
  experiment.exporters = {"json", "csv", "tensorboard"};
  const ResultGrid results = tune_run<Descent>(experiment);

  REQUIRE(results.size() == 5);
  CHECK(results.errors().empty());
  CHECK(results.experiment_end().error.empty());
  CHECK(results.experiment_end().terminated_trials == 5);
  CHECK(results.path() == folder.path() / "run");
  double best = 1e9;
  for (const TrialResult& trial : results) {
    INFO(trial.name);
    CHECK(trial.state == TrialState::terminated);
    CHECK(trial.reason == "stop criterion training_iteration >= 3");
    CHECK(iterations(trial) == counted_to(3));
    CHECK(trial.training_iteration == 3);
    const double x = trial.config["x"].get<double>();
    CHECK(trial.metrics.at("loss") == MetricValue(x / 8));
    best = std::min(best, x / 8);
    REQUIRE(trial.checkpoint);
    CHECK(trial.checkpoint->training_iteration == 3);
    CHECK(trial.checkpoints.size() == 2);
    CHECK(fs::exists(trial.checkpoint->path / "state"));
    CHECK_FALSE(fs::exists(trial.path / "checkpoint_000001"));
    for (const char* file : {"params.json", "result.json", "progress.csv"}) {
      CHECK(fs::exists(trial.path / file));
    }
  }
  CHECK(results.best().metrics.at("loss").as_double() == best);

  // What is on disk says the same.
  const ResultGrid opened = ResultGrid::open(folder.path() / "run");
  REQUIRE(opened.size() == 5);
  CHECK(opened.best().id == results.best().id);
  const Json definition = results.experiment().definition;
  CHECK(definition.at("trainable") == "Descent");
  CHECK(definition.at("searcher").at("name") == "random");
  CHECK(definition.at("scheduler").at("name") == "fifo");
  CHECK(definition.at("seed") == 1);
  CHECK(opened.experiment().definition == definition);
}

TEST_CASE("a train function is searched under ASHA", "[tune_run]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.num_samples = 9;
  experiment.scheduler = asha({.max_t = 4, .grace_period = 1, .reduction_factor = 2});
  const ResultGrid results = tune_run(train_down, experiment);
  REQUIRE(results.size() == 9);
  std::size_t stopped = 0;
  for (const TrialResult& trial : results) {
    CHECK(trial.state == TrialState::terminated);
    stopped += trial.training_iteration < 4 ? 1 : 0;
  }
  CHECK(stopped > 0);
  CHECK(results.best().training_iteration == 4);
}

TEST_CASE("a trainable runs by its registered name", "[tune_run]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", constant(8.0)}};
  SECTION("class") {
    experiment.stop = {{"training_iteration", 4}};
    const ResultGrid results = tune_run("Descent", experiment);
    CHECK(results[0].metrics.at("loss") == MetricValue(0.5));
  }
  SECTION("function") {
    const ResultGrid results = tune_run("train_down", experiment);
    CHECK(results[0].metrics.at("loss") == MetricValue(0.5));
  }
  SECTION("one that nobody registered") {
    CHECK_THROWS_WITH(tune_run("Ascent", experiment),
                      Catch::Contains("Ascent") && Catch::Contains("Descent"));
  }
}

TEST_CASE("any callable runs on threads", "[tune_run][threads]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", constant(8.0)}};
  const double factor = 0.5;
  const ResultGrid results = tune_run(
      [factor](const Config& config) {
        track::report({{"loss", factor * config["x"].get<double>()}});
      },
      experiment);
  CHECK(results[0].metrics.at("loss") == MetricValue(4.0));
  CHECK(results.experiment().definition.at("trainable") == "function");
}

TEST_CASE("ME-07: a run of a function that ends has each row once and says why", "[ME-07]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.metric = "acc";
  experiment.mode = Mode::max;
  experiment.stop = {{"acc", 60}};
  experiment.exporters = {"json", "csv"};
  const ResultGrid results = tune_run(
      [](const Config&) {
        for (int i = 1; i <= 41; ++i) track::report({{"acc", i}});
      },
      experiment);
  const TrialResult& trial = results[0];
  CHECK(trial.state == TrialState::terminated);
  CHECK(trial.reason == "trainable finished");
  CHECK(iterations(trial) == counted_to(41));
  for (const Result& result : trial.history()) CHECK_FALSE(result.done);
  const std::string csv = read_text(trial.path / "progress.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 42);  // with the header
}

TEST_CASE("RA-02: reserved names keep their meaning in a run", "[RA-02]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.failure.max_failures = 1;
  experiment.exporters = {"json"};
  const ResultGrid results = tune_run(
      [](const Config&) {
        track::report({{"training_iteration", 99},
                       {"trial_id", "x"},
                       {"done", false},
                       {"config", 1},
                       {"loss", 0.5}});
        // A second start warns no more.
        if (track::context().incarnation == 1) throw std::runtime_error("once");
      },
      experiment);
  const TrialResult& trial = results[0];
  CHECK(trial.state == TrialState::terminated);
  CHECK(trial.training_iteration == 1);
  CHECK(trial.metrics == Metrics{{"loss", 0.5}});
  const std::string log = read_text(results.path() / "driver.log");
  const std::string warning = "training_iteration, trial_id, config";
  const std::size_t first = log.find(warning);
  REQUIRE(first != std::string::npos);
  CHECK(log.find(warning, first + 1) == std::string::npos);
}

TEST_CASE("RE-09: two runs without a name in one second have two directories", "[RE-09]") {
  const TemporaryFolder folder;
  std::set<std::string> names;
  const std::string printed = output_of([&] {
                                for (int i = 0; i < 2; ++i) {
                                  Experiment experiment = small_experiment(folder);
                                  experiment.name = {};
                                  experiment.space = {{"x", constant(1.0)}};
                                  experiment.verbosity = 1;
                                  const ResultGrid results = tune_run(train_down, experiment);
                                  names.insert(results.experiment().name);
                                }
                              }).second;
  REQUIRE(names.size() == 2);
  for (const std::string& name : names) {
    CHECK_THAT(name,
               Catch::Matches("train_down_\\d{4}-\\d\\d-\\d\\d_\\d\\d-\\d\\d-\\d\\d_[0-9a-f]{6}"));
    CHECK_THAT(printed, Catch::Contains(name) && Catch::Contains(folder.path().string()));
  }
}

TEST_CASE("a scheduler and a searcher serve one run", "[tune_run]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", constant(1.0)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.searcher = nullptr;  // the default
  SECTION("a second run with the same scheduler is refused") {
    experiment.scheduler = asha();
    tune_run(train_down, experiment);
    experiment.name = "second";
    CHECK_THROWS_WITH(tune_run(train_down, experiment),
                      Catch::Contains("scheduler asha") && Catch::Contains("one run"));
    experiment.scheduler = asha();
    CHECK(tune_run(train_down, experiment).size() == 1);
  }
  SECTION("in another experiment, too") {
    experiment.searcher = random_search();
    tune_run(train_down, experiment);
    Experiment other = small_experiment(folder);
    other.name = "other";
    other.space = {{"x", constant(1.0)}};
    other.searcher = std::move(experiment.searcher);
    CHECK_THROWS_WITH(tune_run(train_down, other),
                      Catch::Contains("searcher random") && Catch::Contains("one run"));
  }
  SECTION("defaults are made anew") {
    tune_run(train_down, experiment);
    experiment.name = "second";
    CHECK(tune_run(train_down, experiment).size() == 1);
  }
}

TEST_CASE("the drawn seed is recorded, and gives the same trials again", "[tune_run]") {
  const TemporaryFolder folder;
  Experiment first = small_experiment(folder);
  first.space = {{"x", uniform(0, 1)}};
  first.num_samples = 3;
  first.seed.reset();
  const ResultGrid once = tune_run(train_down, first);
  Experiment second = small_experiment(folder);
  second.name = "again";
  second.space = {{"x", uniform(0, 1)}};
  second.num_samples = 3;
  second.seed = once.experiment().seed;
  const ResultGrid again = tune_run(train_down, second);
  REQUIRE(again.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(once[i].config == again[i].config);
}

TEST_CASE("trials have seeds of their own, the same at each start", "[tune_run]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.num_samples = 2;
  experiment.avoid_duplicates = false;
  experiment.failure.max_failures = 1;
  const ResultGrid results = tune_run(
      [](const Config&) {
        const TrialContext& context = track::context();
        add_line(context.trial_dir / "seeds", std::to_string(context.seed));
        if (context.incarnation == 1) throw std::runtime_error("once");
        track::report({{"x", 1}});
      },
      experiment);
  REQUIRE(results.size() == 2);
  std::set<std::string> seeds;
  for (const TrialResult& trial : results) {
    const std::vector<std::string> lines = read_lines(trial.path / "seeds");
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] == lines[1]);
    seeds.insert(lines[0]);
  }
  CHECK(seeds.size() == 2);
}

/// Counts its steps, and the trials that an object served.
template <bool takes_new_configuration>
class Reused final : public Descent {
 public:
  void setup(const Config& config) override {
    Descent::setup(config);
    x_ = config["x"].get<double>();
  }
  Metrics step() override {
    Metrics metrics = Descent::step();
    metrics.set("own_steps", ++own_steps_);
    metrics.set("x", x_);
    metrics.set("served", served_);
    metrics.set("directory", context().trial_dir.filename().string());
    return metrics;
  }
  bool reset_config(const Config& config) override {
    if (!takes_new_configuration) return false;
    ++served_;
    own_steps_ = 0;
    x_ = config["x"].get<double>();
    return true;
  }

 private:
  double x_ = 0;
  int own_steps_ = 0;
  int served_ = 1;
};

TEMPLATE_TEST_CASE("RS-05: objects that are used again leak nothing into the next trial", "[RS-05]",
                   Reused<true>, Reused<false>) {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.num_samples = 6;
  experiment.stop = {{"training_iteration", 2}};
  const ResultGrid results = tune_run<TestType>(experiment);
  REQUIRE(results.size() == 6);
  bool was_used_again = false;
  for (const TrialResult& trial : results) {
    CHECK(iterations(trial) == counted_to(2));
    CHECK(trial.metrics.at("own_steps") == MetricValue(2));
    CHECK(trial.metrics.at("x") == MetricValue(trial.config["x"].get<double>()));
    CHECK(trial.metrics.at("directory") == MetricValue(trial.name));
    was_used_again = was_used_again || trial.metrics.at("served") != MetricValue(1);
  }
  CHECK(was_used_again == std::is_same_v<TestType, Reused<true>>);
}

TEST_CASE("points to evaluate come first and count", "[tune_run]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", uniform(0, 10)}};
  experiment.num_samples = 4;
  experiment.points_to_evaluate = {{{"x", 7.0}}, {{"x", 3.0}}};
  const ResultGrid results = tune_run(train_down, experiment);
  REQUIRE(results.size() == 4);
  CHECK(results[0].config["x"].get<double>() == 7);
  CHECK(results[1].config["x"].get<double>() == 3);
}

TEST_CASE("a run leaves no thread behind", "[tune_run]") {
  const auto threads = [] {
    const fs::directory_iterator tasks("/proc/self/task");
    return std::distance(fs::begin(tasks), fs::end(tasks));
  };
  const TemporaryFolder folder;
  const auto before = threads();
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.num_samples = 4;
  tune_run(train_down, experiment);
  // The system may still list a thread of an actor that has just ended.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (threads() != before && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  CHECK(threads() == before);
}

}  // namespace
}  // namespace tune::test
