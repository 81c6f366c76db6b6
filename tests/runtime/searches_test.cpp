// Whole searches, by the configurations that they run.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/searchers/grid.hpp>
#include <tune/searchers/random.hpp>
#include <tune/track.hpp>
#include <tune/tune_run.hpp>

#include "run_support.hpp"
#include "store/journal_reader.hpp"

namespace tune::test {
namespace {

std::set<std::string> distinct(const ResultGrid& results) {
  std::set<std::string> configs;
  for (const TrialResult& trial : results) configs.insert(trial.config.dump());
  return configs;
}

/// A grid of nine points on four slots.
Experiment nine_points(const TemporaryFolder& folder) {
  Experiment experiment = small_experiment(folder);
  experiment.local = {.cpus = 4};
  experiment.space = {{"a", randint(0, 3)}, {"b", choice({"x", "y", "z"})}};
  experiment.searcher = grid();
  return experiment;
}

void report_once(const Config&) { track::report({{"loss", 1.0}}); }

TEST_CASE("SE-08: of nine points on four slots one fails and the run ends by itself", "[SE-08]") {
  const TemporaryFolder folder;
  Experiment experiment = nine_points(folder);
  const ResultGrid results = tune_run(
      [](const Config& config) {
        if (config.json() == Json{{"a", 1}, {"b", "y"}}) throw std::runtime_error("point 5");
        report_once(config);
      },
      experiment);
  CHECK(results.size() == 9);
  CHECK(distinct(results).size() == 9);
  CHECK(results.experiment_end().terminated_trials == 8);
  CHECK(results.experiment_end().failed_trials == 1);
  CHECK(results.experiment_end().unfinished_trials == 0);
  REQUIRE(results.errors().size() == 1);
  CHECK(results.errors()[0].config["b"].get<std::string>() == "y");
}

TEST_CASE("SE-08: max_trials beyond and within the nine points", "[SE-08]") {
  for (const auto& [max_trials, trials] : {std::pair(15, 9U), std::pair(4, 4U)}) {
    for (const std::int64_t num_samples : {1, -1}) {
      const TemporaryFolder folder;
      Experiment experiment = nine_points(folder);
      experiment.num_samples = num_samples;
      experiment.max_trials = max_trials;
      const ResultGrid results = tune_run(report_once, experiment);
      CHECK(results.size() == trials);
      CHECK(distinct(results).size() == trials);
      CHECK(results.experiment_end().terminated_trials == trials);
    }
  }
}

TEST_CASE("SE-07: on four slots the points run first, once", "[SE-07]") {
  for (const bool is_grid : {false, true}) {
    const TemporaryFolder folder;
    Experiment experiment = small_experiment(folder);
    experiment.local = {.cpus = 4};
    experiment.space = {{"a", randint(0, is_grid ? 5 : 100)}};
    experiment.num_samples = is_grid ? 1 : 5;
    experiment.searcher = is_grid ? grid() : random_search();
    experiment.points_to_evaluate = {{{"a", 1}}, {{"a", 2}}};
    const ResultGrid results = tune_run(report_once, experiment);
    REQUIRE(results.size() == 5);
    CHECK(results[0].config["a"].get<int>() == 1);
    CHECK(results[1].config["a"].get<int>() == 2);
    CHECK(distinct(results).size() == 5);
  }
}

TEST_CASE("SS-11: the best configuration holds the option itself wherever it stands", "[SS-11]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"units", choice({200, 512, 1000})}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.num_samples = 12;
  experiment.avoid_duplicates = false;
  experiment.exporters = {"json", "csv"};
  const ResultGrid results = tune_run(
      [](const Config& config) {
        track::report({{"loss", std::abs(config["units"].get<int>() - 512)}});
      },
      experiment);
  CHECK(results.size() == 12);
  CHECK(distinct(results).size() == 3);
  const std::string units = R"({"units":512})";
  CHECK(results.best().config.dump() == units);
  const ResultGrid opened = ResultGrid::open(results.path());
  CHECK(opened.best().config.dump() == units);
  const std::filesystem::path path = results.best().path;
  CHECK(Json::parse(read_text(path / "params.json")) == Json::parse(units));
  CHECK(Json::parse(read_text(path / "result.json")).at("config") == Json::parse(units));
  CHECK(results.best().name.ends_with("_units=512"));
  std::ostringstream table;
  results.write_csv(table);
  CHECK_THAT(table.str(), Catch::Contains(",512,") || Catch::Contains(",512\r"));
}

TEST_CASE("a name that is a value in one branch and a space in the other is recorded as either",
          "[searches]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {
      {"opt", branch({{"a", {{"x", uniform(0, 1)}}}, {"b", {{"x", {{"y", uniform(2, 3)}}}}}})}};
  experiment.num_samples = 12;
  experiment.points_to_evaluate = {{{"opt", "a"}, {"x", 0.5}}, {{"opt", "b"}, {"x/y", 2.5}}};
  experiment.exporters = {"json", "csv", "tensorboard"};
  const ResultGrid results = tune_run(report_once, experiment);
  CHECK(results.errors().empty());
  CHECK(results.experiment_end().error.empty());
  REQUIRE(results.size() == 12);
  CHECK(results[0].config.dump() == R"({"opt":"a","x":0.5})");
  CHECK(results[1].config.dump() == R"({"opt":"b","x":{"y":2.5}})");
  const ResultGrid opened = ResultGrid::open(results.path());
  for (std::size_t i = 0; i < 12; ++i) {
    const TrialResult& trial = results[i];
    CHECK(opened[i].config == trial.config);
    const bool is_value = trial.config["opt"].get<std::string>() == "a";
    CHECK(trial.config["x"].json().is_object() != is_value);
    const std::string csv = read_text(trial.path / "progress.csv");
    const std::string columns = csv.substr(0, csv.find("\r\n"));
    CHECK(columns.ends_with(is_value ? ",config/x" : ",config/x/y"));
  }
  std::ostringstream table;
  results.write_csv(table);
  CHECK_THAT(table.str(), Catch::Contains(",config/opt,config/x,config/x/y,") &&
                              Catch::Contains(",a,0.5,,") && Catch::Contains(",b,,2.5,"));
}

/// Counts its steps, and notes the state of every checkpoint that it loads.
class Counting : public Trainable {
 public:
  Metrics step() override { return {{"steps", ++steps_}, {"start", context().incarnation}}; }
  void save_checkpoint(const std::filesystem::path& dir) override {
    std::ofstream(dir / "steps") << steps_;
  }
  void load_checkpoint(const std::filesystem::path& dir) override {
    std::ifstream(dir / "steps") >> steps_;
    add_line(context().trial_dir / "loads", std::to_string(steps_));
  }

 private:
  int steps_ = 0;
};

/// Pauses each trial at its first result, and lets it go on when a slot is free.
class PausesAtFirst final : public TestScheduler {
 public:
  Decision on_trial_result(SchedulerContext&, const Trial&, const Result& result) override {
    return result.training_iteration == 1 ? Decision::pause : Decision::proceed;
  }
  std::optional<TrialId> choose_trial_to_run(SchedulerContext& context) override {
    if (const auto pending = TrialScheduler::choose_trial_to_run(context)) return pending;
    for (const auto& [id, trial] : context.live_trials()) {
      if (trial.state() == TrialState::paused) return id;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool needs_checkpoints() const override { return true; }
};

TEST_CASE("SC-09: trials that were paused at 1 go on from there, time after time", "[SC-09]") {
  constexpr std::size_t trials = 4;
  for (int repetition = 0; repetition < 50; ++repetition) {
    CAPTURE(repetition);
    const TemporaryFolder folder;
    Experiment experiment = small_experiment(folder);
    experiment.local = {.cpus = 4};
    experiment.space = {{"x", uniform(0, 1)}};
    experiment.num_samples = trials;
    experiment.stop = {{"training_iteration", 3}};
    experiment.scheduler = std::make_unique<PausesAtFirst>();
    const ResultGrid results = tune_run<Counting>(experiment);
    REQUIRE(results.size() == trials);
    for (const TrialResult& trial : results) {
      CHECK(trial.state == TrialState::terminated);
      const std::vector<Result> history = trial.history();
      REQUIRE(history.size() == 3);
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(history[i].training_iteration == static_cast<std::int64_t>(i) + 1);
        CHECK(history[i].metrics.at("steps") == MetricValue(i + 1));
      }
      CHECK(history[0].metrics.at("start") != history[1].metrics.at("start"));
      CHECK(history[1].metrics.at("start") == history[2].metrics.at("start"));
      CHECK(read_lines(trial.path / "loads") == std::vector<std::string>{"1"});
    }
  }
}

// Thinks about trial 2 until trial 6 has run.
class Ponderer final : public Searcher {
 public:
  explicit Ponderer(std::filesystem::path path) : path_(std::move(path)) {}
  void setup(const SearcherSetup&) override {}
  Suggestion suggest(const SuggestionRequest& request) override {
    if (request.trial == TrialId(2)) wait_until([&] { return std::filesystem::exists(path_); });
    return Config(Json{{"x", 0.5}});
  }
  [[nodiscard]] bool needs_metric() const override { return false; }
  [[nodiscard]] Json options() const override { return {{"name", "ponderer"}}; }

 private:
  std::filesystem::path path_;
};

TEST_CASE("no slot waits longer than suggest_budget for a searcher that thinks",
          "[searches][threads]") {
  const TemporaryFolder folder;
  const std::filesystem::path sign = folder.path() / "sign";
  Experiment experiment = small_experiment(folder);
  experiment.isolation = Isolation::threads;
  experiment.space = {{"x", uniform(0, 1)}, {"sign", sign.string()}};
  experiment.num_samples = 8;
  experiment.avoid_duplicates = false;
  experiment.searcher = std::make_unique<Ponderer>(sign);
  experiment.suggest_budget = std::chrono::milliseconds(50);
  const ResultGrid results = tune_run(
      [](const Config& config) {
        if (track::context().trial_id == TrialId(6)) {
          std::ofstream(config["sign"].get<std::string>()) << "here";
        }
        report_once(config);
      },
      experiment);
  REQUIRE(results.size() == 8);  // without the budget trial 6 would never come
  CHECK(results.errors().empty());
  for (std::size_t i = 2; i < 7; ++i) CHECK(results[i].config["x"].get<double>() != 0.5);
  const store::JournalReader journal(results.path());
  std::vector<std::string> said;
  journal.for_each_message([&](const store::MessageRow& message) {
    if (message.kind == "explanation") said.push_back(message.text);
  });
  CHECK(std::count(said.begin(), said.end(),
                   "drawn at random: ponderer took longer than suggest_budget, 0.05 s") >= 5);
}

}  // namespace
}  // namespace tune::test
