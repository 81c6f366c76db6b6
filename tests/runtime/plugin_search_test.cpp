#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include <tune/fsck.hpp>
#include <tune/replay.hpp>
#include <tune/track.hpp>
#include <tune/tune_run.hpp>

#include "loaded_plugins.hpp"
#include "run_support.hpp"
#include "support/temporary_folder.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

/// Makes a folder the current directory for as long as it lives.
class CurrentDirectory {
 public:
  explicit CurrentDirectory(const fs::path& path) : before_(fs::current_path()) {
    fs::current_path(path);
  }
  ~CurrentDirectory() { fs::current_path(before_); }
  CurrentDirectory(const CurrentDirectory&) = delete;
  CurrentDirectory& operator=(const CurrentDirectory&) = delete;

 private:
  fs::path before_;
};

/// A search with all that the plugin has, in worker processes.
Experiment plugin_experiment(const TemporaryFolder& folder) {
  Experiment experiment = small_experiment(folder);
  experiment.isolation = Isolation::processes;
  experiment.space = {{"x", uniform(0.0, 100.0)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.num_samples = 4;
  experiment.scheduler = make_scheduler("patient", {{"limit", 2}});
  experiment.searcher = make_searcher("ladder");
  experiment.checkpoint.every = 1;
  return experiment;
}

TEST_CASE("a search with a plugin's scheduler, searcher and trainable in worker processes",
          "[plugin]") {
  const TemporaryFolder folder;
  const Plugin plugin = load_plugin(plugin_path("good"));
  const ResultGrid results = tune_run("PluginModel", plugin_experiment(folder));
  REQUIRE(results.size() == 4);
  for (std::size_t i = 0; i < results.size(); ++i) {
    CHECK(results[i].state == TrialState::terminated);
    CHECK(results[i].error.empty());
    CHECK(results[i].config["x"].get<double>() == static_cast<double>(i));
    CHECK(iterations(results[i]) == counted_to(2));
  }
  const Json record = Json::parse(read_text(folder.path() / "run" / "experiment.json"));
  CHECK(record.at("definition").at("plugins") == Json::array({plugin.file.string()}));
  const FsckReport report = fsck(folder.path() / "run");
  CHECK(report.findings.empty());
  CHECK(report.is_replayed);
  const ReplayReport replayed = replay(folder.path() / "run");
  CHECK(replayed.is_same());
  CHECK(replayed.decisions >= 4);
}

TEST_CASE("a plugin's train function runs in worker processes", "[plugin]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.isolation = Isolation::processes;
  experiment.space = {{"x", constant(1.0)}};
  SECTION("of a plugin that the experiment names") { experiment.plugins = {plugin_path("good")}; }
  SECTION("of a plugin that was loaded") { load_plugin(plugin_path("good")); }
  const ResultGrid results = tune_run("plugin_function", experiment);
  CHECK(results[0].state == TrialState::terminated);
  CHECK(results[0].metrics.at("loss") == MetricValue(5.0));
}

TEST_CASE("an experiment with a plugin that is refused does not start", "[plugin]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.plugins = {plugin_path("other_abi")};
  experiment.space = {{"x", constant(1.0)}};
  CHECK_THROWS_AS(tune_run("PluginModel", experiment), PluginError);
  CHECK_THROWS_AS(tune_run([](const Config&) {}, experiment), PluginError);
  CHECK_FALSE(fs::exists(folder.path() / "run"));
}

TEST_CASE("a plugin that workers cannot load fails the trials, and says why", "[plugin]") {
  const TemporaryFolder folder;
  const fs::path copy = folder.path() / "copy.so";
  fs::copy_file(plugin_path("good"), copy);
  load_plugin(copy.string());
  fs::remove(copy);
  Experiment experiment = plugin_experiment(folder);
  experiment.num_samples = 1;
  const ResultGrid results = tune_run("PluginModel", experiment);
  CHECK(results[0].state == TrialState::error);
  CHECK_THAT(results[0].error, Contains("a worker cannot run it: plugin " + copy.string() +
                                        ": there is no such file"));
}

void check_clean_end_and_resume(const std::string& fault, const std::string& text) {
  const TemporaryFolder folder;
  const CurrentDirectory current(folder.path());
  load_plugin(plugin_path("good"));
  std::ofstream(folder.path() / fault).flush();
  try {
    tune_run("PluginModel", plugin_experiment(folder));
    FAIL("it did not end as it should");
  } catch (const ExperimentError& error) {
    CHECK_THAT(error.what(), Contains(text));
  }
  FsckReport report = fsck(folder.path() / "run");
  CHECK(report.is_sound());
  fs::remove(folder.path() / fault);
  const ResultGrid results = tune_run("PluginModel", plugin_experiment(folder));
  CHECK(results.size() == 4);
  for (const TrialResult& trial : results) {
    CHECK(trial.state == TrialState::terminated);
    CHECK(iterations(trial) == counted_to(2));
  }
  report = fsck(folder.path() / "run");
  CHECK(report.is_sound());
}

TEST_CASE("a plugin's scheduler that throws ends the experiment, which can go on", "[plugin]") {
  SECTION("an exception") {
    check_clean_end_and_resume("throw_in_on_trial_result", "no cheese left");
  }
  SECTION("of a class that only the plugin knows") {
    check_clean_end_and_resume("throw_own_in_on_trial_result", "scheduler");
  }
}

TEST_CASE("a plugin's searcher that throws ends the experiment, which can go on", "[plugin]") {
  SECTION("an exception") { check_clean_end_and_resume("throw_in_suggest", "no cheese left"); }
  SECTION("of a class that only the plugin knows") {
    check_clean_end_and_resume("throw_own_in_suggest", "searcher");
  }
}

TEST_CASE("a plugin's scheduler that cannot be saved is a warning", "[plugin]") {
  const TemporaryFolder folder;
  const CurrentDirectory current(folder.path());
  load_plugin(plugin_path("good"));
  std::ofstream(folder.path() / GENERATE(as<std::string>{}, "throw_in_save", "throw_own_in_save"))
      .flush();
  // So many results that a snapshot is due.
  Experiment experiment = plugin_experiment(folder);
  experiment.isolation = Isolation::threads;
  experiment.num_samples = 1;
  experiment.checkpoint.every = 0;
  experiment.scheduler = make_scheduler("patient", {{"limit", 1200}});
  const ResultGrid results = tune_run("PluginModel", experiment);
  CHECK(results[0].state == TrialState::terminated);
  CHECK_THAT(read_text(folder.path() / "run" / "driver.log"), Contains("save() threw"));
}

}  // namespace
}  // namespace tune::test
