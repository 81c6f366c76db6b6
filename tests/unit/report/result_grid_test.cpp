#include <tune/result_grid.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "hub_run.hpp"
#include "support/limits.hpp"
#include "support/seed.hpp"

namespace tune {
namespace {

using test::HubRun;

void append_line(const std::filesystem::path& path, const std::string& text) {
  report::append_to_file(path, text);
}

TEST_CASE("ME-02: NaN never wins, and the best value so far is not forgotten", "[ME-02]") {
  HubRun run({"json"}, {}, Objective{"acc", Mode::max});
  run.run(0);
  run.report(0, {{"acc", 0.9}});
  run.report(0, {{"acc", test::nan}});
  run.run(1);
  run.report(1, {{"acc", 0.8}});
  run.report(1, {{"acc", 0.8}});
  run.run(2);
  run.report(2, {{"acc", test::nan}});
  for (const std::uint64_t trial : {0, 1, 2}) run.complete(trial);
  run.end();
  const ResultGrid results = run.hub().take_results();
  CHECK(results.best().id == TrialId(1));
  CHECK(results.best(Scope::all).id == TrialId(0));
  CHECK(results.best(Scope::avg).id == TrialId(0));
  CHECK(std::isnan(*results[0].value("acc", Mode::max, Scope::last)));
  CHECK(results[0].value("acc", Mode::max, Scope::all) == 0.9);
  CHECK(std::isnan(*results[2].value("acc", Mode::max, Scope::all)));
  CHECK(std::isnan(*results[2].value("acc", Mode::max, Scope::avg)));
}

TEST_CASE("ME-02: no best trial among NaN only is an error that says so", "[ME-02]") {
  HubRun run({"json"}, {}, Objective{"acc", Mode::max});
  for (const std::uint64_t trial : {0, 1}) {
    run.run(trial);
    run.report(trial, {{"acc", test::nan}, {"loss", 1.0}});
    run.complete(trial);
  }
  run.end();
  const ResultGrid results = run.hub().take_results();
  for (const Scope scope : {Scope::last, Scope::all, Scope::avg, Scope::last_5_avg}) {
    CHECK_THROWS_WITH(results.best(scope), "no trial has a finite value of \"acc\"");
  }
  CHECK_THROWS_WITH(results.best("f1", Mode::max),
                    Catch::Contains("\"f1\"") && Catch::Contains("acc, loss"));
}

TEST_CASE("ME-03: values that are not finite come back exactly and are never the best", "[ME-03]") {
  const std::vector<std::string> exporters =
      GENERATE(std::vector<std::string>{"json"}, std::vector<std::string>{});
  HubRun run(exporters);
  run.run(0, {{"clip", -test::inf}, {"list", {1, test::nan}}});
  run.report(0, {{"loss", test::inf}, {"gap", -test::inf}, {"acc", test::nan}});
  run.report(0, {{"loss", 1.0}});
  run.run(1, {{"clip", 1.0}});
  run.report(1, {{"loss", 1.0}});
  run.report(1, {{"loss", test::inf}, {"gap", -test::inf}, {"acc", test::nan}});
  run.complete(0);
  run.complete(1);
  run.end();
  const ResultGrid results =
      exporters.empty() ? run.hub().take_results() : ResultGrid::open(run.path());
  CHECK(results.best().id == TrialId(0));
  CHECK(results[0].state == TrialState::terminated);
  CHECK(results[0].config == Config({{"clip", -test::inf}, {"list", {1, test::nan}}}));
  const Metrics expected = {{"loss", test::inf}, {"gap", -test::inf}, {"acc", test::nan}};
  CHECK(results[1].metrics == expected);
  CHECK(results[0].history().at(0).metrics == expected);  // also in its order
  CHECK(results[0].history().at(1).metrics == Metrics{{"loss", 1.0}});
}

TEST_CASE("ME-10: among equals the lowest trial number is the best", "[ME-10]") {
  HubRun run;
  for (const std::uint64_t trial : {2, 0, 1}) {
    run.run(trial, {{"n", trial}});
    run.report(trial, {{"loss", 0.5}});
    run.complete(trial);
  }
  run.end();
  CHECK(run.hub().take_results().best().id == TrialId(0));

  // In whatever order the records of the trials come.
  const std::vector<Json> lines = test::json_lines(run.path() / "trials.jsonl");
  std::vector<std::string> trials = {"00000", "00001", "00002"};
  const std::uint64_t seed = test::test_seed(1);
  INFO("TUNE_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 10; ++i) {
    std::shuffle(trials.begin(), trials.end(), random);
    std::string text;
    for (const std::string& trial : trials) {
      for (const Json& line : lines) {
        if (line.at("trial_id") == trial) text += line.dump() + "\n";
      }
    }
    report::write_file(run.path() / "trials.jsonl", text);
    const ResultGrid results = ResultGrid::open(run.path());
    REQUIRE(results.size() == 3);
    CHECK(results[0].id == TrialId(0));
    for (const Scope scope : {Scope::last, Scope::all, Scope::avg}) {
      CHECK(results.best(scope).id == TrialId(0));
      CHECK(results.best("loss", Mode::max, scope).id == TrialId(0));
    }
  }
}

TEST_CASE("FA-04: where all trials failed, the query for the best says how many and why",
          "[FA-04]") {
  HubRun run;
  for (std::uint64_t trial = 0; trial < 10; ++trial) {
    run.run(trial, {{"n", trial}});
    run.fail(trial, "boom " + std::to_string(trial));
  }
  run.end({0, 10, 0, "all trials ended", ""});
  for (const ResultGrid& results : {run.hub().take_results(), ResultGrid::open(run.path())}) {
    CHECK(results.errors().size() == 10);
    CHECK(results.errors().front().get().error == "boom 0");
    CHECK(results.experiment_end().failed_trials == 10);
    CHECK_THROWS_WITH(results.best(),
                      Catch::Contains("10 of 10 trials failed") && Catch::Contains("boom 0"));
  }
}

TEST_CASE("scopes choose among a trial's results", "[result_grid]") {
  HubRun run;
  run.run(0);
  for (const double loss :
       {1.0, 9.0, 8.0, test::inf, 6.0, 5.0, 4.0, 3.0, 2.0, 7.0, 10.0, test::nan}) {
    run.report(0, {{"loss", loss}});
  }
  run.report(0, {{"other", 1}});  // this one has no loss
  run.complete(0);
  run.end();
  const ResultGrid results = run.hub().take_results();
  const TrialResult& trial = results[0];
  CHECK(std::isnan(*trial.value("loss", Mode::min, Scope::last)));
  CHECK(trial.value("loss", Mode::min, Scope::all) == 1.0);
  CHECK(trial.value("loss", Mode::max, Scope::all) == 10.0);
  CHECK(trial.value("loss", Mode::min, Scope::avg) == 5.5);
  CHECK(trial.value("loss", Mode::min, Scope::last_5_avg) == 5.5);
  CHECK(trial.value("loss", Mode::min, Scope::last_10_avg) == 5.625);
  CHECK(trial.value("training_iteration", Mode::max, Scope::last) == 13.0);
  CHECK_FALSE(trial.value("acc", Mode::max, Scope::all));
  CHECK(to_string(Scope::last_10_avg) == "last-10-avg");
}

TEST_CASE("best() without a metric says that there is none", "[result_grid]") {
  HubRun run({}, {}, std::nullopt);
  run.run(0);
  run.report(0, {{"loss", 1.0}});
  run.complete(0);
  run.end();
  const ResultGrid results = run.hub().take_results();
  CHECK_THROWS_WITH(results.best(), Catch::Contains("has no metric"));
  CHECK(results.best("loss", Mode::min).id == TrialId(0));
  CHECK_THROWS_WITH(ResultGrid().best("loss", Mode::min), Catch::Contains("no trials"));
}

// Trials in every state, checkpoints that come and go, and one that never started.
void write_everything(HubRun& run) {
  run.run(0, {{"lr", 0.1}});
  run.report(0, {{"loss", 0.5}, {"ok", true}, {"n", 3}, {"note", "a"}});
  run.checkpoint(0, 1);
  run.report(0, {{"loss", 0.75}});
  run.checkpoint(0, 2);
  run.hub().checkpoint_deleted(TrialId(0), "checkpoint_000001");
  run.report(0, {{"loss", 0.25}});
  run.checkpoint(0, 3);
  run.complete(0);
  run.run(1, {{"lr", 0.2}});
  run.report(1, {{"loss", 0.75}});
  run.state(1, TrialState::paused, "rung 1");
  run.run(2, {{"lr", 0.3}});
  run.report(2, {{"loss", 1.0}});
  run.report(2, {{"loss", 2.0}});
  run.state(2, TrialState::pending, "", "it broke");
  run.add(3, {{"lr", 0.4}});
  run.run(4, {{"lr", 0.5}});
  run.report(4, {{"loss", 4.0}});
  run.fail(4, "no luck");
  run.hub().checkpoint_deleted(TrialId(0), "checkpoint_000003");  // after its end
}

void check_everything(const ResultGrid& results, const std::filesystem::path& path) {
  REQUIRE(results.size() == 5);
  const TrialResult& first = results[0];
  CHECK(first.state == TrialState::terminated);
  CHECK(first.reason == "trainable finished");
  CHECK(first.name == "00000_lr=0.1");
  CHECK(first.path == path / first.name);
  CHECK(first.config == Config(Json{{"lr", 0.1}}));
  CHECK(first.training_iteration == 3);
  CHECK(first.time_total_s == 1.5);
  CHECK(first.metrics == Metrics{{"loss", 0.25}});
  REQUIRE(first.checkpoint);
  CHECK(first.checkpoint->path == first.path / "checkpoint_000002");
  CHECK(first.checkpoint->training_iteration == 2);
  CHECK(first.checkpoints.size() == 1);
  const std::vector<Result> history = first.history();
  REQUIRE(history.size() == 3);
  CHECK(history[0].metrics == Metrics{{"loss", 0.5}, {"ok", true}, {"n", 3}, {"note", "a"}});
  CHECK(history[2].training_iteration == 3);
  CHECK(history[2].time_this_iter_s == 0.5);

  CHECK(results[1].state == TrialState::paused);
  CHECK(results[1].reason == "rung 1");
  CHECK(results[1].metrics == Metrics{{"loss", 0.75}});
  CHECK(results[2].state == TrialState::pending);
  CHECK(results[2].error == "it broke");
  CHECK(results[2].history().size() == 2);
  CHECK(results[3].state == TrialState::pending);
  CHECK(results[3].training_iteration == 0);
  CHECK(results[3].history().empty());
  CHECK(results[3].metrics.empty());
  CHECK(results[4].state == TrialState::error);
  CHECK(results[4].error == "no luck");
  CHECK(results.best().id == TrialId(0));
  CHECK(results.path() == path);
  CHECK(results.experiment().name == "experiment");
  CHECK(results.experiment().seed == UINT64_MAX);
  CHECK(results.experiment().definition == Json{{"trainable", "Mlp"}});
  CHECK(results.experiment().experiment_id == "e1d2");
}

TEST_CASE("the results in memory and those of the directory are the same", "[result_grid]") {
  HubRun run;
  write_everything(run);
  SECTION("of a running experiment") {
    run.hub().idle();
    const ResultGrid results = ResultGrid::open(run.path());
    check_everything(results, run.path());
    CHECK(results.experiment_end().terminated_trials == 1);
    CHECK(results.experiment_end().failed_trials == 1);
    CHECK(results.experiment_end().unfinished_trials == 3);
  }
  SECTION("of an ended one, moved elsewhere") {
    run.end({1, 1, 3, "time budget", "and a fault"});
    check_everything(run.hub().take_results(), run.path());
    const std::filesystem::path moved = run.path().parent_path() / "moved";
    std::filesystem::rename(run.path(), moved);
    const ResultGrid results = ResultGrid::open(moved / ".");
    check_everything(results, moved / "");
    CHECK(results.experiment_end().reason == "time budget");
    CHECK(results.experiment_end().error == "and a fault");
    CHECK_FALSE(results.interrupted());
    CHECK(results.experiment_end().unfinished_trials == 3);
  }
  SECTION("of an interrupted one") {
    run.end({1, 1, 3, "Ctrl-C", "", true});
    CHECK(run.hub().take_results().interrupted());
    const ResultGrid results = ResultGrid::open(run.path());
    check_everything(results, run.path());
    CHECK(results.interrupted());
    CHECK(results.experiment_end().reason == "Ctrl-C");
    CHECK(results.json().at("end").at("interrupted") == true);
  }
  SECTION("of a broken-off one, in memory") {
    check_everything(run.hub().take_results(), run.path());
  }
}

TEST_CASE("without a json exporter the history is in memory", "[result_grid]") {
  HubRun run({"csv"});
  run.run(0);
  for (int i = 1; i <= 5; ++i) run.report(0, {{"loss", i}});
  run.state(0, TrialState::pending, "", "it broke");
  run.start(0, 2);
  run.report(0, {{"loss", 30}});
  run.complete(0);
  run.end();
  const std::vector<Result> history = run.hub().take_results()[0].history();
  REQUIRE(history.size() == 3);
  CHECK(history[1].metrics == Metrics{{"loss", 2}});
  CHECK(history[2].metrics == Metrics{{"loss", 30}});
  const ResultGrid opened = ResultGrid::open(run.path());
  CHECK(opened.best().metrics == Metrics{{"loss", 30}});
  CHECK_THROWS_WITH(opened[0].history(), Catch::Contains("result.json"));
}

TEST_CASE("the best checkpoint is that of the best iteration", "[result_grid]") {
  HubRun run;
  run.run(0);
  const std::vector<double> losses = {3.0, 1.0, test::nan, 2.0, 1.0};
  for (std::size_t i = 0; i < losses.size(); ++i) {
    run.report(0, {{"loss", losses[i]}});
    if (i > 0) run.checkpoint(0, static_cast<std::int64_t>(i) + 1);
  }
  run.complete(0);
  run.end();
  const ResultGrid results = run.hub().take_results();
  CHECK(results[0].checkpoint->training_iteration == 5);
  CHECK(results[0].best_checkpoint("loss", Mode::min)->training_iteration == 2);
  CHECK(results[0].best_checkpoint("loss", Mode::max)->training_iteration == 4);
  CHECK_FALSE(results[0].best_checkpoint("acc", Mode::max));
}

TEST_CASE("a configuration that changed at a later start is the one in the results",
          "[result_grid]") {
  HubRun run;
  run.run(0, {{"lr", 0.1}});
  TrialInfo again;
  again.id = TrialId(0);
  again.name = "00000_lr=0.1";
  again.config = Config(Json{{"lr", 0.2}});
  again.incarnation = 2;
  run.hub().trial_started(again);
  run.hub().trial_state(TrialId(0), 2, TrialState::terminated, "trainable finished", "");
  run.end();
  CHECK(run.hub().take_results()[0].config == Config(Json{{"lr", 0.2}}));
}

TEST_CASE("a last line that was cut is left out while an experiment runs", "[result_grid]") {
  HubRun run;
  run.run(0);
  run.report(0, {{"loss", 1.0}});
  run.report(0, {{"loss", 0.5}});
  run.hub().idle();
  const std::filesystem::path rows = run.trial_path(0) / "result.json";
  const std::string tail = GENERATE(R"({"loss":0.2)", "\xFF\xFE", "{\"loss\":0.25}\n", "\n");
  append_line(rows, tail);
  append_line(run.path() / "trials.jsonl", tail);
  const ResultGrid results = ResultGrid::open(run.path());
  REQUIRE(results.size() == 1);
  CHECK(results[0].training_iteration == 2);
  CHECK(results[0].metrics == Metrics{{"loss", 0.5}});
  CHECK(results[0].history().size() == 2);
}

TEST_CASE("a damaged line is an error with file and line", "[result_grid]") {
  HubRun run;
  run.run(0);
  for (int i = 0; i < 3; ++i) run.report(0, {{"loss", 1.0}});
  run.complete(0);
  run.end();
  const std::filesystem::path rows = run.trial_path(0) / "result.json";
  const std::filesystem::path trials = run.path() / "trials.jsonl";
  const auto damage = [](const std::filesystem::path& path, int line) {
    std::string text = test::file_text(path);
    std::size_t begin = 0;
    for (int i = 1; i < line; ++i) begin = text.find('\n', begin) + 1;
    report::write_file(path, text.replace(begin, 1, "#"));
  };
  SECTION("in the middle of result.json") {
    damage(rows, 2);
    const ResultGrid results = ResultGrid::open(run.path());
    CHECK_THROWS_WITH(results[0].history(), Catch::Contains("result.json:2: "));
    CHECK_THROWS_WITH(results.best(Scope::all), Catch::Contains("result.json:2: "));
  }
  SECTION("at the end of a finished result.json") {
    damage(rows, 3);
    CHECK_THROWS_WITH(ResultGrid::open(run.path())[0].history(),
                      Catch::Contains("result.json:3: "));
  }
  SECTION("in trials.jsonl") {
    damage(trials, GENERATE(1, 2, 3));
    CHECK_THROWS_WITH(ResultGrid::open(run.path()), Catch::Contains("trials.jsonl:"));
  }
  SECTION("in trials.jsonl of an experiment that has not ended") {
    report::write_file(run.path() / "experiment.json", [&] {
      Json json = Json::parse(test::file_text(run.path() / "experiment.json"));
      json.erase("end");
      return json.dump();
    }());
    damage(trials, 1);
    CHECK_THROWS_WITH(ResultGrid::open(run.path()), Catch::Contains("trials.jsonl:1: "));
  }
  SECTION("in experiment.json") {
    damage(run.path() / "experiment.json", 1);
    CHECK_THROWS_WITH(ResultGrid::open(run.path()), Catch::Contains("experiment.json: "));
  }
  SECTION("a file is missing") {
    const std::string name = GENERATE("experiment.json", "trials.jsonl");
    std::filesystem::remove(run.path() / name);
    CHECK_THROWS_WITH(ResultGrid::open(run.path()), Catch::Contains(name));
  }
}

TEST_CASE("the grid is written as CSV and as JSON", "[result_grid]") {
  HubRun run;
  run.run(0, {{"lr", 0.1}, {"net", {{"depth", 2}}}});
  run.report(0, {{"loss", test::inf}, {"note", "a,\"b\""}});
  run.checkpoint(0, 1);
  run.complete(0);
  run.run(1, {{"optimizer", "adam"}});
  run.report(1, {{"acc", 0.5}});
  run.fail(1, "line 1\nline 2");
  run.end({1, 1, 0, "all trials ended", ""});
  const ResultGrid results = run.hub().take_results();

  std::ostringstream text;
  results.write_csv(text);
  const test::CsvTable table(text.str());
  CHECK(table.header() ==
        std::vector<std::string>{"trial_id", "name", "state", "training_iteration", "time_total_s",
                                 "reason", "error", "checkpoint", "config/lr", "config/net/depth",
                                 "config/optimizer", "loss", "note", "acc"});
  REQUIRE(table.rows() == 2);
  CHECK(table.column("trial_id") == std::vector<std::string>{"00000", "00001"});
  CHECK(table.column("state") == std::vector<std::string>{"terminated", "error"});
  CHECK(table.column("checkpoint") == std::vector<std::string>{"checkpoint_000001", ""});
  CHECK(table.column("error") == std::vector<std::string>{"", "line 1\nline 2"});
  CHECK(table.column("config/net/depth") == std::vector<std::string>{"2", ""});
  CHECK(table.column("config/optimizer") == std::vector<std::string>{"", "adam"});
  CHECK(table.column("loss") == std::vector<std::string>{"inf", ""});
  CHECK(table.column("note") == std::vector<std::string>{"a,\"b\"", ""});
  CHECK(table.column("acc") == std::vector<std::string>{"", "0.5"});

  const Json json = Json::parse(results.json().dump());
  CHECK(json.at("metric") == "loss");
  CHECK(json.at("end").at("failed_trials") == 1);
  REQUIRE(json.at("trials").size() == 2);
  const Json& first = json.at("trials")[0];
  CHECK(first.at("config") == Json{{"lr", 0.1}, {"net", {{"depth", 2}}}});
  CHECK(first.at("metrics") == Json{{"loss", nullptr}, {"note", "a,\"b\""}});
  CHECK(first.at("nonfinite") == Json{{"loss", "inf"}});
  CHECK(first.at("checkpoint") == "checkpoint_000001");
  CHECK(json.at("trials")[1].at("error") == "line 1\nline 2");
}

}  // namespace
}  // namespace tune
