#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/error.hpp>
#include <tune/scheduler.hpp>
#include <tune/searcher.hpp>
#include <tune/track.hpp>
#include <tune/tune_run.hpp>

#include "run_support.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

/// At each start throws where its parameter "faults", a list, says for that start: in "setup",
/// "step 4", "save_checkpoint" or "load_checkpoint"; in none of them once the list is used up.
/// Notes each start, and the step of each checkpoint that it loads.
class Faulty final : public Descent {
 public:
  void setup(const Config& config) override {
    const std::size_t starts_before = read_lines(context().trial_dir / "starts").size();
    add_line(context().trial_dir / "starts", "start");
    if (config.contains("faults")) {
      const auto faults = config["faults"].get<std::vector<std::string>>();
      if (starts_before < faults.size()) fault_ = faults[starts_before];
    }
    throw_in("setup");
    Descent::setup(config);
  }
  Metrics step() override {
    throw_in("step " + std::to_string(++step_));
    return Descent::step();
  }
  void save_checkpoint(const fs::path& dir) override {
    throw_in("save_checkpoint");
    std::ofstream(dir / "step") << step_;
    Descent::save_checkpoint(dir);
  }
  void load_checkpoint(const fs::path& dir) override {
    std::ifstream(dir / "step") >> step_;
    add_line(context().trial_dir / "loads", std::to_string(step_));
    throw_in("load_checkpoint");
    Descent::load_checkpoint(dir);
  }

 private:
  void throw_in(const std::string& phase) const {
    if (fault_ == phase) throw std::runtime_error("boom in " + phase);
  }

  std::string fault_;
  int step_ = 0;
};

/// Never takes its configuration.
class Invalid final : public Descent {
 public:
  void setup(const Config&) override { throw InvalidConfig("never works"); }
};

std::size_t starts_of(const TrialResult& trial) { return read_lines(trial.path / "starts").size(); }

Experiment faulty_experiment(const TemporaryFolder& folder) {
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", constant(1.0)}};
  experiment.stop = {{"training_iteration", 6}};
  experiment.checkpoint.every = 1;
  return experiment;
}

TEST_CASE("FA-03: the failure limit counts retries from the last checkpoint", "[FA-03]") {
  const TemporaryFolder folder;
  Experiment experiment = faulty_experiment(folder);
  experiment.space.add("faults", constant(std::vector<std::string>(5, "step 4")));
  SECTION("limit 0 is one attempt") {
    const ResultGrid results = tune_run<Faulty>(experiment);
    CHECK(results[0].state == TrialState::error);
    CHECK(starts_of(results[0]) == 1);
    CHECK(iterations(results[0]) == counted_to(3));
  }
  SECTION("limit 2 is three attempts") {
    experiment.failure.max_failures = 2;
    const ResultGrid results = tune_run<Faulty>(experiment);
    CHECK(results[0].state == TrialState::error);
    CHECK_THAT(results[0].error, Catch::Contains("boom in step"));
    CHECK(starts_of(results[0]) == 3);
    CHECK(read_lines(results[0].path / "loads") == std::vector<std::string>{"3", "3"});
    CHECK(iterations(results[0]) == counted_to(3));
    CHECK_THAT(read_text(results[0].path / "error.txt"), Catch::Contains("boom in step"));
  }
  SECTION("limit -1 retries until it works") {
    experiment.failure.max_failures = -1;
    const ResultGrid results = tune_run<Faulty>(experiment);
    CHECK(results[0].state == TrialState::terminated);
    CHECK(starts_of(results[0]) == 6);
    CHECK(iterations(results[0]) == counted_to(6));
    CHECK(results[0].metrics.at("steps") == MetricValue(6));
  }
}

TEST_CASE("without a checkpoint a retry starts anew and each row stands once", "[faults]") {
  const TemporaryFolder folder;
  Experiment experiment = faulty_experiment(folder);
  experiment.checkpoint.every = 0;
  experiment.failure.max_failures = 1;
  experiment.exporters = {"json"};
  experiment.space.add("faults", constant(Json::array({"step 4"})));
  const ResultGrid results = tune_run<Faulty>(experiment);
  CHECK(results[0].state == TrialState::terminated);
  CHECK(starts_of(results[0]) == 2);
  CHECK(read_lines(results[0].path / "loads").empty());
  CHECK(iterations(results[0]) == counted_to(6));
}

TEST_CASE("FA-04: an experiment in which every trial fails ends and says so", "[FA-04]") {
  const TemporaryFolder folder;
  Experiment experiment = faulty_experiment(folder);
  experiment.space = {{"x", uniform(0, 1)}, {"faults", constant(Json::array({"step 1"}))}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.num_samples = 10;
  const ResultGrid results = tune_run<Faulty>(experiment);
  REQUIRE(results.size() == 10);
  CHECK(results.errors().size() == 10);
  CHECK(results.experiment_end().failed_trials == 10);
  CHECK_THROWS_WITH(results.best(), Catch::Contains("10") && Catch::Contains("boom in step"));
}

TEST_CASE("a fault in any phase of the training code ends its trial and no other", "[faults]") {
  const std::string phase = GENERATE("setup", "step", "save_checkpoint", "load_checkpoint");
  CAPTURE(phase);
  const std::string where = phase == "step" ? "step 2" : phase;
  // Only after another fault a checkpoint is loaded at all.
  const std::string first = phase == "load_checkpoint" ? "step 2" : where;
  const TemporaryFolder folder;
  Experiment experiment = faulty_experiment(folder);
  experiment.space.add("faults", grid_search({Json::array({first, where}), Json::array()}));
  experiment.max_concurrent = 1;
  experiment.failure.max_failures = 1;
  const ResultGrid results = tune_run<Faulty>(experiment);
  REQUIRE(results.size() == 2);
  CHECK(results[0].state == TrialState::error);
  CHECK_THAT(results[0].error, Catch::StartsWith(phase + ": boom in " + where));
  CHECK(starts_of(results[0]) == 2);
  CHECK(results[1].state == TrialState::terminated);
  CHECK(iterations(results[1]) == counted_to(6));
}

TEST_CASE("FA-06: an invalid configuration is never retried and the searcher is told", "[FA-06]") {
  const TemporaryFolder folder;
  Experiment experiment = faulty_experiment(folder);
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.num_samples = 10;
  experiment.failure.max_failures = 3;
  experiment.checkpoint.every = 0;
  const ResultGrid results = tune_run(
      [](const Config& config) {
        add_line(track::context().trial_dir / "starts", "start");
        if (config["x"].get<double>() < 0.5) throw InvalidConfig("x below 0.5");
        track::report({{"loss", 1}});
      },
      experiment);
  REQUIRE(results.size() == 10);  // an invalid one counts as a sample
  for (const TrialResult& trial : results) {
    const bool is_invalid = trial.config["x"].get<double>() < 0.5;
    CHECK(trial.state == (is_invalid ? TrialState::error : TrialState::terminated));
    if (is_invalid) CHECK_THAT(trial.error, Catch::Contains("x below 0.5"));
    CHECK(starts_of(trial) == 1);
  }
  CHECK_FALSE(results.errors().empty());
  CHECK(results.errors().size() < 10);
}

TEST_CASE("FA-06: a search with no end gives up when nothing is valid", "[FA-06]") {
  const TemporaryFolder folder;
  Experiment experiment = faulty_experiment(folder);
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.num_samples = -1;
  try {
    tune_run<Invalid>(experiment);
    FAIL("it should have been broken off");
  } catch (const ExperimentError& error) {
    CHECK_THAT(error.what(), Catch::Contains("never works"));
    CHECK(error.results().errors().size() == 1000);
  }
}

class ThirdResultThrows final : public Callback {
 public:
  [[nodiscard]] std::string name() const override { return "third result throws"; }
  void on_trial_result(const TrialInfo& trial, const Result& result) override {
    ++calls;
    if (trial.id == TrialId{1} && result.training_iteration == 3) {
      throw std::runtime_error("cannot draw");
    }
  }
  void on_experiment_end(const ExperimentInfo&, const ExperimentEnd&) override { ended = true; }
  int calls = 0;
  bool ended = false;
};

TEST_CASE("FA-14: a callback that throws is switched off and the experiment goes on", "[FA-14]") {
  const TemporaryFolder folder;
  Experiment experiment = faulty_experiment(folder);
  experiment.space = {{"x", choice({Json::array({1, 2}), Json::array({3, 4})})}};
  experiment.num_samples = 2;
  experiment.max_concurrent = 1;
  experiment.checkpoint.every = 0;
  experiment.stop = {};
  experiment.exporters = {"json", "csv", "tensorboard"};
  const auto callback = std::make_shared<ThirdResultThrows>();
  experiment.callbacks = {callback};
  const ResultGrid results = tune_run(
      [](const Config&) {
        for (int i = 0; i < 5; ++i) track::report({{"loss", i}});
      },
      experiment);
  REQUIRE(results.size() == 2);
  for (const TrialResult& trial : results) {
    CHECK(trial.state == TrialState::terminated);
    CHECK(iterations(trial) == counted_to(5));
  }
  CHECK(callback->calls == 8);
  CHECK_FALSE(callback->ended);
  CHECK_THAT(read_text(results.path() / "driver.log"),
             Catch::Contains("third result throws") && Catch::Contains("cannot draw"));
}

TEST_CASE("ME-06: a text objective is an error of its trial that names metric and type",
          "[ME-06]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"text", grid_search({true, false})}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.exporters = {"json", "csv"};
  const ResultGrid results = tune_run(
      [](const Config& config) {
        const bool text = config["text"].get<bool>();
        track::report({{"loss", text ? MetricValue("0.3") : MetricValue(0.3)}, {"status", "ok"}});
        track::report(
            {{"loss", text ? MetricValue("unavailable") : MetricValue(0.2)}, {"status", "ok"}});
      },
      experiment);
  REQUIRE(results.size() == 2);
  CHECK(results[0].state == TrialState::error);
  CHECK_THAT(results[0].error, Catch::Contains("loss") && Catch::Contains("text"));
  CHECK_THAT(read_text(results[0].path / "result.json"), Catch::Contains("\"0.3\""));
  CHECK(results[1].state == TrialState::terminated);
  CHECK(results.best().id == TrialId{1});
}

class ThrowingScheduler final : public TestScheduler {
 public:
  Decision on_trial_result(SchedulerContext&, const Trial& trial, const Result& result) override {
    if (trial.id() == TrialId{0} && result.training_iteration == 2) {
      throw std::runtime_error("lost count");
    }
    return Decision::proceed;
  }
};

TEST_CASE("a scheduler that throws ends the experiment and keeps what was recorded", "[faults]") {
  const TemporaryFolder folder;
  Experiment experiment = faulty_experiment(folder);
  experiment.scheduler = std::make_unique<ThrowingScheduler>();
  try {
    tune_run<Faulty>(experiment);
    FAIL("it should have been broken off");
  } catch (const ExperimentError& error) {
    CHECK_THAT(error.what(), Catch::Contains("test") && Catch::Contains("lost count"));
    REQUIRE(error.results().size() == 1);
    CHECK(iterations(error.results()[0]) == counted_to(2));
    CHECK_FALSE(error.results().experiment_end().error.empty());
  }
}

/// Throws where the test says.
class ThrowingSearcher final : public Searcher {
 public:
  explicit ThrowingSearcher(std::string where) : where_(std::move(where)) {}
  void setup(const SearcherSetup&) override {}
  Suggestion suggest(const SuggestionRequest& request) override {
    if (where_ == "suggest" && request.trial == TrialId{2}) throw std::runtime_error("no idea");
    return Config(Json{{"x", static_cast<double>(request.trial.value())}});
  }
  void on_trial_result(TrialId, const Config&, const Result&) override {
    if (where_ == "result") throw std::runtime_error("no idea");
  }
  void on_trial_completed(TrialId, const Config&, const Result&) override {
    if (where_ == "completed") throw std::runtime_error("no idea");
  }
  [[nodiscard]] bool wants_results() const override { return true; }
  [[nodiscard]] bool needs_metric() const override { return false; }
  [[nodiscard]] Json options() const override { return {{"name", "throwing"}}; }

 private:
  std::string where_;
};

TEST_CASE("a searcher that throws ends the experiment and says where", "[faults]") {
  const TemporaryFolder folder;
  const std::string where = GENERATE("suggest", "result", "completed");
  Experiment experiment = faulty_experiment(folder);
  experiment.space = {{"x", uniform(0, 10)}};
  experiment.num_samples = where == "completed" ? 1 : 4;  // at the very end, too
  experiment.searcher = std::make_unique<ThrowingSearcher>(where);
  try {
    tune_run<Faulty>(experiment);
    FAIL("it should have been broken off");
  } catch (const ExperimentError& error) {
    CHECK_THAT(error.what(), Catch::Contains("searcher") && Catch::Contains("no idea"));
    CHECK(error.results().size() >= 1);
    for (const TrialResult& trial : error.results()) {
      CHECK(trial.state != TrialState::running);
    }
  }
}

/// Puts a file where the first trial's directory should be.
class BlocksTrialDirectory final : public Callback {
 public:
  void on_experiment_start(const ExperimentInfo& experiment) override {
    const Config config(Json{{"x", 1.0}});
    std::ofstream(experiment.path / trial_directory_name(TrialId{0}, config)) << "in the way";
  }
};

TEST_CASE("storage that fails ends the experiment with the path and the reason", "[faults]") {
  const TemporaryFolder folder;
  Experiment experiment = faulty_experiment(folder);
  experiment.callbacks = {std::make_shared<BlocksTrialDirectory>()};
  try {
    tune_run<Faulty>(experiment);
    FAIL("it should have been broken off");
  } catch (const ExperimentError& error) {
    CHECK_THAT(error.what(), Catch::Contains("run/00000"));
    CHECK(error.results().size() == 1);
  }
}

TEST_CASE("a stop criterion that throws ends the experiment", "[faults]") {
  const TemporaryFolder folder;
  Experiment experiment = faulty_experiment(folder);
  experiment.stop = stop_when(
      [](const Trial&, const Result&) -> bool { throw std::runtime_error("no such field"); });
  CHECK_THROWS_WITH(tune_run<Faulty>(experiment), Catch::Contains("no such field"));
}

}  // namespace
}  // namespace tune::test
