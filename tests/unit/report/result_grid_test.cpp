#include <tune/result_grid.hpp>

#include <cmath>
#include <filesystem>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "hub_run.hpp"
#include "support/limits.hpp"

namespace tune {
namespace {

using test::HubRun;

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
  const ResultGrid results = run.results();
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
  const ResultGrid results = run.results();
  for (const Scope scope : {Scope::last, Scope::all, Scope::avg, Scope::last_5_avg}) {
    CHECK_THROWS_WITH(results.best(scope), "no trial has a finite value of \"acc\"");
  }
  CHECK_THROWS_WITH(results.best("f1", Mode::max),
                    Catch::Contains("\"f1\"") && Catch::Contains("acc, loss"));
}

TEST_CASE("ME-03: values that are not finite come back exactly and are never the best", "[ME-03]") {
  HubRun run;
  run.run(0, {{"clip", -test::inf}, {"list", {1, test::nan}}});
  run.report(0, {{"loss", test::inf}, {"gap", -test::inf}, {"acc", test::nan}});
  run.report(0, {{"loss", 1.0}});
  run.run(1, {{"clip", 1.0}});
  run.report(1, {{"loss", 1.0}});
  run.report(1, {{"loss", test::inf}, {"gap", -test::inf}, {"acc", test::nan}});
  run.complete(0);
  run.complete(1);
  run.end();
  const ResultGrid results = run.results();
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
  const ResultGrid results = run.results();
  REQUIRE(results.size() == 3);
  CHECK(results[0].id == TrialId(0));
  for (const Scope scope : {Scope::last, Scope::all, Scope::avg}) {
    CHECK(results.best(scope).id == TrialId(0));
    CHECK(results.best("loss", Mode::max, scope).id == TrialId(0));
  }
  // Also if one of them has to be looked up in its history.
  run.run(3);
  run.report(3, {{"loss", 0.5}});
  run.report(3, {{"other", 1}});
  CHECK(run.results().best().id == TrialId(0));
  HubRun other;
  other.run(0);
  other.report(0, {{"loss", 0.5}});
  other.report(0, {{"other", 1}});
  other.run(1);
  other.report(1, {{"loss", 0.5}});
  CHECK(other.results().best().id == TrialId(0));
}

TEST_CASE("FA-04: where all trials failed, the query for the best says how many and why",
          "[FA-04]") {
  HubRun run;
  for (std::uint64_t trial = 0; trial < 10; ++trial) {
    run.run(trial, {{"n", trial}});
    run.fail(trial, "boom " + std::to_string(trial));
  }
  run.end({0, 10, 0, "all trials ended", ""});
  const ResultGrid results = run.results();
  CHECK(results.errors().size() == 10);
  CHECK(results.errors().front().error == "boom 0");
  CHECK(results.experiment_end().failed_trials == 10);
  CHECK_THROWS_WITH(results.best(),
                    Catch::Contains("10 of 10 trials failed") && Catch::Contains("boom 0"));
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
  const ResultGrid results = run.results();
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
  const ResultGrid results = run.results();
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
  run.delete_checkpoint(0, 1);
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
  run.delete_checkpoint(0, 3);  // after its end
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

TEST_CASE("a grid shows its trials as they are now", "[result_grid]") {
  HubRun run;
  write_everything(run);
  check_everything(run.results(), run.path());
  run.end({1, 1, 3, "Ctrl-C", "and a fault", true});
  const ResultGrid results = run.results();
  check_everything(results, run.path());
  CHECK(results.interrupted());
  CHECK(results.experiment_end().reason == "Ctrl-C");
  CHECK(results.experiment_end().error == "and a fault");
  CHECK(results.experiment_end().unfinished_trials == 3);
  CHECK(results.json().at("end").at("interrupted") == true);

  // Trials that come later are in another grid; those that it has may go on.
  run.run(5, {{"lr", 0.6}});
  run.report(5, {{"loss", -1.0}});
  run.report(1, {{"loss", 0.125}});
  REQUIRE(results.size() == 5);
  CHECK(results.best().id == TrialId(1));
  CHECK(results[1].training_iteration == 2);
  CHECK(results.json().at("trials").size() == 5);
  CHECK(run.results().best().id == TrialId(5));
}

TEST_CASE("a grid says which index is beyond its end", "[result_grid]") {
  HubRun run;
  run.run(0);
  CHECK_THROWS_AS(run.results()[1], std::out_of_range);
  CHECK_THROWS_WITH(run.results()[7], Catch::Contains("7") && Catch::Contains("of 1"));
  CHECK_THROWS_AS(ResultGrid()[0], std::out_of_range);
  const ResultGrid none;
  CHECK((none.begin() == none.end()));
  CHECK(TrialResult().history().empty());
}

TEST_CASE("a grid reads histories only where the last results do not do", "[result_grid]") {
  HubRun run;
  for (std::uint64_t trial = 0; trial < 3; ++trial) {
    run.run(trial);
    run.report(trial, {{"loss", trial}});
  }
  run.add(3);
  CHECK(run.results().best().id == TrialId(0));
  CHECK(run.journal().histories_read == 0);
  run.report(2, {{"note", "the metric is in the result before"}});
  CHECK(run.results().best("loss", Mode::max).id == TrialId(2));
  CHECK(run.journal().histories_read == 1);
  CHECK(run.results().best(Scope::all).id == TrialId(0));
  CHECK(run.journal().histories_read == 5);
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
  const ResultGrid results = run.results();
  CHECK(results[0].checkpoint->training_iteration == 5);
  CHECK(results[0].best_checkpoint("loss", Mode::min)->training_iteration == 2);
  CHECK(results[0].best_checkpoint("loss", Mode::max)->training_iteration == 4);
  CHECK_FALSE(results[0].best_checkpoint("acc", Mode::max));
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
  const ResultGrid results = run.results();

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
