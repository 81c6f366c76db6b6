#include "report/callback_hub.hpp"

#include <sys/resource.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "hub_run.hpp"

namespace tune {
namespace {

using test::HubRun;
using test::NotingCallback;

const std::vector<std::string> no_exporters;

/// Takes what is written to std::cerr while it lives.
class CapturedErrors {
 public:
  CapturedErrors() : previous_(std::cerr.rdbuf(text_.rdbuf())) {}
  ~CapturedErrors() { std::cerr.rdbuf(previous_); }
  CapturedErrors(const CapturedErrors&) = delete;
  CapturedErrors& operator=(const CapturedErrors&) = delete;
  [[nodiscard]] std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* previous_;
};

/// Throws at the third result of trial 1.
class ThrowingCallback final : public NotingCallback {
 public:
  explicit ThrowingCallback(bool throws_a_number) : throws_a_number_(throws_a_number) {}
  [[nodiscard]] std::string name() const override { return "my plotter"; }
  void on_trial_result(const TrialInfo& trial, const Result& result) override {
    NotingCallback::on_trial_result(trial, result);
    if (trial.id != TrialId(1) || result.training_iteration != 3) return;
    if (throws_a_number_) throw 3;
    throw std::runtime_error("no canvas");
  }

 private:
  bool throws_a_number_;
};

TEST_CASE("a callback hears of everything in order", "[callback_hub]") {
  const auto callback = std::make_shared<NotingCallback>();
  HubRun run(no_exporters, {callback});
  run.run(0, {{"lr", 0.1}});
  run.report(0, {{"loss", 1.0}});
  run.checkpoint(0, 1);
  run.state(0, TrialState::paused, "paused by the scheduler");
  run.start(0, 1);
  run.report(0, {{"loss", 0.5}});
  run.state(0, TrialState::pending, "", "it broke");
  run.start(0, 1);
  run.complete(0);
  run.run(1);
  run.fail(1, "it broke for good");
  run.end();
  CHECK(callback->notes ==
        std::vector<std::string>{"experiment start", "start 0", "result 0", "checkpoint 0",
                                 "start 0", "result 0", "failed, will retry 0", "start 0",
                                 "completed 0", "start 1", "failed 1", "experiment end"});
}

TEST_CASE("a callback is told paths, and why a trial ended", "[callback_hub]") {
  struct Checking final : Callback {
    void on_trial_start(const TrialInfo& trial) override {
      CHECK(std::filesystem::is_directory(trial.path));
      CHECK(trial.path.is_absolute());
      ++calls;
    }
    void on_trial_checkpoint(const TrialInfo& trial, const Checkpoint& checkpoint) override {
      CHECK(checkpoint.path == trial.path / "checkpoint_000001");
      CHECK(checkpoint.training_iteration == 1);
      ++calls;
    }
    void on_trial_completed(const TrialInfo&, const TrialEnd& end) override {
      CHECK(end.state == TrialState::terminated);
      CHECK(end.reason == "trainable finished");
      ++calls;
    }
    void on_trial_failed(const TrialInfo& trial, const TrialEnd& end, bool will_retry) override {
      CHECK(trial.config.json() == Json{{"lr", 2}});
      CHECK(end.error == "no memory");
      CHECK_FALSE(will_retry);
      ++calls;
    }
    int calls = 0;
  };
  const auto callback = std::make_shared<Checking>();
  HubRun run(no_exporters, {callback});
  run.run(0, {{"lr", 1}});
  run.report(0, {{"loss", 1.0}});
  run.checkpoint(0, 1);
  run.complete(0);
  run.add(1, {{"lr", 2}});
  run.fail(1, "no memory");  // before it ever started
  CHECK(callback->calls == 4);
}

TEST_CASE("who hears of the end finds all results in the directory", "[callback_hub]") {
  struct Reader final : Callback {
    void on_experiment_end(const ExperimentInfo& experiment, const ExperimentEnd& end) override {
      const Json file = Json::parse(test::file_text(experiment.path / "experiment.json"));
      CHECK(file.at("end").at("reason") == end.reason);
      CHECK(file.at("end").at("unfinished_trials") == end.unfinished_trials);
      for (const char* trial : {"00000", "00001"}) {
        const auto rows = test::json_lines(experiment.path / trial / "result.json");
        REQUIRE(rows.size() == 2);
        CHECK(rows[1].at("loss") == 0.5);
        CHECK(test::CsvTable(experiment.path / trial / "progress.csv").rows() == 2);
      }
      CHECK(test::file_text(experiment.path / "driver.log").find("experiment_ended") !=
            std::string::npos);
      ++calls;
      throw std::runtime_error("no more to do");
    }
    int calls = 0;
  };
  const auto reader = std::make_shared<Reader>();
  CapturedErrors errors;
  HubRun run({"json", "csv", "tensorboard"}, {reader});
  for (std::uint64_t trial = 0; trial < 2; ++trial) {
    run.run(trial);
    run.report(trial, {{"loss", 1.0}});
    run.report(trial, {{"loss", 0.5}});
  }
  run.complete(0);
  run.end({1, 0, 1, "time budget", ""});
  CHECK(reader->calls == 1);
  CHECK(test::file_text(run.path() / "driver.log").find("no more to do") != std::string::npos);
}

TEST_CASE("FA-14: a user's callback that throws is switched off and named, the rest goes on",
          "[FA-14]") {
  const auto bad = std::make_shared<ThrowingCallback>(GENERATE(false, true));
  const auto good = std::make_shared<NotingCallback>();
  CapturedErrors errors;
  HubRun run({"json", "csv", "tensorboard"}, {bad, good});
  for (std::uint64_t trial = 0; trial < 2; ++trial) {
    run.run(trial, {{"list", {1, 2}}});  // TensorBoard has no such parameters
    for (int i = 0; i < 5; ++i) run.report(trial, {{"loss", 1.0}});
    run.complete(trial);
  }
  run.end();
  CHECK(bad->notes.size() == 1 + (1 + 5 + 1) + (1 + 3));
  CHECK(good->notes.size() == 1 + (1 + 5 + 1) + (1 + 5 + 1) + 1);
  CHECK_FALSE(run.hub().storage_error());
  const std::string log = test::file_text(run.path() / "driver.log");
  for (const std::string& text : {errors.text(), log}) {
    CHECK(text.find("my plotter") != std::string::npos);
    CHECK((text.find("no canvas") != std::string::npos) !=
          (text.find("not a std::exception") != std::string::npos));
  }
  for (const std::uint64_t trial : {0, 1}) {
    CHECK(test::json_lines(run.trial_path(trial) / "result.json").size() == 5);
  }
}

TEST_CASE("records that come late are ignored", "[callback_hub]") {
  const auto callback = std::make_shared<NotingCallback>();
  HubRun run({"json"}, {callback});
  run.run(0);
  run.report(0, {{"loss", 1.0}});
  run.state(0, TrialState::pending, "", "it broke");
  run.start(0);
  const std::size_t notes = callback->notes.size();
  // Of the first start, while the second runs.
  run.hub().result(TrialId(0), 1, test::make_result(2, {{"loss", 0.0}}));
  run.hub().checkpoint_stored(TrialId(0), 1, "checkpoint_000002", 2);
  run.hub().trial_state(TrialId(0), 1, TrialState::error, "", "late");
  CHECK(callback->notes.size() == notes);
  run.complete(0);
  // After the end.
  run.report_at(0, 9, {{"loss", 0.0}});
  run.checkpoint(0, 9);
  run.fail(0, "late");
  run.start(0);
  CHECK(callback->notes.size() == notes + 1);
  run.end();
  const auto rows = test::json_lines(run.trial_path(0) / "result.json");
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].at("training_iteration") == 1);
  CHECK(rows[0].at("checkpoint_dir_name").is_null());
}

TEST_CASE("exporters can be switched off; unknown ones are refused", "[callback_hub]") {
  const auto has_file = [](const HubRun& run, const std::string& start) {
    for (const auto& entry : std::filesystem::directory_iterator(run.trial_path(0))) {
      if (entry.path().filename().string().starts_with(start)) return true;
    }
    return false;
  };
  const std::vector<std::string> exporters =
      GENERATE(std::vector<std::string>{}, std::vector<std::string>{"json"},
               std::vector<std::string>{"csv"}, std::vector<std::string>{"tensorboard", "json"});
  HubRun run(exporters);
  run.run(0);
  run.report(0, {{"loss", 1.0}});
  run.complete(0);
  run.end();
  const std::set<std::string> names(exporters.begin(), exporters.end());
  CHECK(has_file(run, "result.json") == names.contains("json"));
  CHECK(has_file(run, "params.json") == names.contains("json"));
  CHECK(has_file(run, "progress.csv") == names.contains("csv"));
  CHECK(has_file(run, "events.out.tfevents.") == names.contains("tensorboard"));

  CHECK_THROWS_WITH(report::CallbackHub({"jsonl"}, {}),
                    Catch::Contains("\"jsonl\"") && Catch::Contains("json, csv, tensorboard"));
  CHECK_THROWS_AS(report::CallbackHub({"json", "csv", "json"}, {}), std::invalid_argument);
  CHECK_THROWS_AS(report::CallbackHub({}, {nullptr}), std::invalid_argument);
}

TEST_CASE("driver.log tells of each change of a trial's state", "[callback_hub]") {
  HubRun run;
  run.run(7);
  run.report(7, {{"loss", 1.0}});
  run.state(7, TrialState::pending, "", "it\nbroke");
  run.start(7);
  run.hub().warning(TrialId(7), "metric \"done\" is reserved");
  run.hub().warning(std::nullopt, "no slot");
  run.state(7, TrialState::terminated, "stop criterion training_iteration >= 1");
  run.end({1, 0, 0, "all trials ended", ""});
  const std::string log = test::file_text(run.path() / "driver.log");
  const auto has = [&](const std::string& text) { return log.find(text) != std::string::npos; };
  CHECK(has("event=experiment_started name=experiment"));
  CHECK(has(" trial=7 event=started incarnation=1 "));
  CHECK(has(R"( trial=7 event=failed incarnation=1 error="it\nbroke")"));
  CHECK(has(" trial=7 event=started incarnation=2 "));
  CHECK(has(R"( trial=7 event=warning text="metric \"done\" is reserved")"));
  CHECK(has(R"(Z event=warning text="no slot")"));
  CHECK(has(R"( trial=7 event=terminated incarnation=2 reason="stop criterion)"));
  CHECK(has(R"(event=experiment_ended reason="all trials ended" terminated=1 failed=0)"));
}

TEST_CASE("error.txt has each failed start, whatever the exporters", "[callback_hub]") {
  HubRun run(no_exporters);
  run.run(0);
  run.report(0, {{"loss", 1.0}});
  run.state(0, TrialState::pending, "", "first\nfault");
  run.start(0);
  run.fail(0, "second fault");
  run.add(1, {{"x", 1}});
  run.fail(1, "never started");
  CHECK(test::file_text(run.trial_path(0) / "error.txt") ==
        "start 1 failed after iteration 1:\nfirst\nfault\n\n"
        "start 2 failed after iteration 1:\nsecond fault\n\n");
  CHECK(test::file_text(run.trial_path(1) / "error.txt") ==
        "start 0 failed after iteration 0:\nnever started\n\n");
}

TEST_CASE("what the storage cannot take is reported with its path", "[callback_hub]") {
  HubRun run;
  run.run(0);
  run.report(0, {{"loss", 1.0}});
  run.hub().idle();
  CHECK_FALSE(run.hub().storage_error());
  run.add(1, {{"x", 1}});
  // A file where the trial's directory should be.
  report::write_file(run.trial_path(1), "");
  run.start(1);
  REQUIRE(run.hub().storage_error());
  CHECK(run.hub().storage_error()->find(run.trial_path(1).string()) != std::string::npos);
  const std::string first = *run.hub().storage_error();

  run.report(1, {{"loss", 0.25}});
  run.complete(1);
  run.complete(0);
  run.end({1, 0, 1, "a fault of the storage", ""});
  CHECK(*run.hub().storage_error() == first);
  CHECK(test::json_lines(run.trial_path(0) / "result.json").size() == 1);  // it is readable
}

TEST_CASE("3000 trials at once do with 64 descriptors", "[callback_hub]") {
  struct LoweredLimit {
    LoweredLimit() {
      getrlimit(RLIMIT_NOFILE, &previous);
      rlimit lowered = previous;
      lowered.rlim_cur = 64;
      setrlimit(RLIMIT_NOFILE, &lowered);
    }
    ~LoweredLimit() { setrlimit(RLIMIT_NOFILE, &previous); }
    rlimit previous{};
  };
  constexpr std::uint64_t trials = 3000;
  HubRun run;
  {
    const LoweredLimit limit;
    for (std::uint64_t trial = 0; trial < trials; ++trial) run.run(trial, {{"n", trial}});
    for (int round = 0; round < 3; ++round) {
      for (std::uint64_t trial = 0; trial < trials; ++trial) {
        run.report(trial, {{"loss", 0.001 * static_cast<double>(trial)}});
      }
      if (round == 0) run.hub().idle();  // all files are written, and once more at the ends
    }
    for (std::uint64_t trial = 0; trial < trials; ++trial) run.complete(trial);
    run.end();
    CHECK_FALSE(run.hub().storage_error());
  }
  for (const std::uint64_t trial : {0, 1, 1499, 2999}) {
    CHECK(test::json_lines(run.trial_path(trial) / "result.json").size() == 3);
    CHECK(test::CsvTable(run.trial_path(trial) / "progress.csv").rows() == 3);
  }
}

TEST_CASE("LO-02: trials whose long configurations differ at the end have directories of their own",
          "[LO-02]") {
  Json config = Json::object();
  for (int i = 0; i < 60; ++i) {
    const std::string number = std::to_string(10 + i);
    config["parameter_" + std::string(28, 'x') + number] = 0.123456789;
  }
  HubRun run;
  run.run(0, config);
  config["parameter_" + std::string(28, 'x') + "69"] = 0.5;
  run.run(1, config);
  run.complete(0);
  run.complete(1);
  CHECK(run.trial_path(0) != run.trial_path(1));
  for (const std::uint64_t trial : {0, 1}) {
    CHECK(run.trial_path(trial).filename().string().size() <= 128);
    const Json params = Json::parse(test::file_text(run.trial_path(trial) / "params.json"));
    CHECK(params.size() == 60);
    CHECK(params.at("parameter_" + std::string(28, 'x') + "69") ==
          (trial == 0 ? 0.123456789 : 0.5));
  }
}

TEST_CASE("LO-03: hostile values write nothing outside the experiment", "[LO-03]") {
  const test::TemporaryFolder outside;
  HubRun run;
  run.run(0, {{"a", "MY Name (1, 2)"}, {"b", "../../etc"}, {"c", "a/b"}, {"d", "x\ny"}});
  run.run(1, {{"-rf", "-rf"}, {"../../e", 1}});
  run.complete(0);
  run.complete(1);
  run.end();
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(run.path())) {
    names.insert(entry.path().filename().string());
  }
  CHECK(names == std::set<std::string>{"driver.log", "experiment.json",
                                       run.trial_path(0).filename().string(),
                                       run.trial_path(1).filename().string()});
  for (const std::uint64_t trial : {0, 1}) {
    CHECK(run.trial_path(trial).filename().string().find_first_not_of(
              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._=-") ==
          std::string::npos);
  }
  std::size_t beside = 0;
  for (const auto& entry : std::filesystem::directory_iterator(run.path().parent_path())) {
    beside += entry.exists() ? 1 : 0;
  }
  CHECK(beside == 1);
}

}  // namespace
}  // namespace tune
