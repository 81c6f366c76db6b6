#include <cmath>

#include <catch2/catch.hpp>

#include "engine_bench.hpp"

#include "support/limits.hpp"

namespace tune::engine {
namespace {

TEST_CASE("NaN and infinity are told, kept as they are, and end nothing", "[engine]") {
  EngineBench bench(minimise_loss());
  bench.join().suggest(0);
  bench.report(0, 1, {{"loss", std::nan("")}});
  CHECK(bench.given<Proceed>().size() == 1);
  CHECK(std::isnan(bench.given<RecordResult>().at(0).result.target()));
  bench.report(0, 2, {{"loss", -test::inf}});
  CHECK(bench.given<RecordResult>().at(0).result.target() == -test::inf);
  CHECK_FALSE(bench.engine.context().find(TrialId{0})->best());
  bench.report(0, 3, {{"loss", 2.0}}).report(0, 4, {{"loss", std::nan("")}});
  CHECK(bench.engine.context().find(TrialId{0})->best() == 2.0);
  CHECK(bench.scheduler.told.size() == 4);
}

TEST_CASE("strict_metric: a first result without the metric is an error, not retried", "[engine]") {
  EngineOptions options = minimise_loss();
  options.max_failures = 5;
  EngineBench bench(options);
  bench.join().suggest(0).report(0, 1, {{"accuracy", 0.5}, {"epoch", 1}});
  CHECK(bench.given<Proceed>().empty());
  CHECK(bench.given<Stop>().size() == 1);
  bench.end(0, EndKind::stopped, "");
  CHECK(bench.state(0).state == TrialState::error);
  CHECK(bench.state(0).error == "iteration 1 has no metric \"loss\"; it has: accuracy, epoch");
  CHECK(bench.ever<Launch>().size() == 1);
  CHECK(bench.scheduler.told.empty());
  CHECK(bench.ever<TellSearcherFailed>().size() == 1);
}

TEST_CASE("strict_metric: a later result without the metric is recorded, not told", "[engine]") {
  EngineOptions options = minimise_loss();
  options.searcher_wants_results = true;
  EngineBench bench(options);
  bench.join().suggest(0).report(0, 1).report(0, 2, {{"epoch", 2}});
  CHECK(bench.given<RecordResult>().size() == 1);
  CHECK(bench.given<TellSearcherResult>().empty());
  CHECK(bench.given<Proceed>().size() == 1);
  CHECK(bench.scheduler.told.size() == 1);
}

TEST_CASE("a result that is an error in itself is no result for stop criteria and searcher",
          "[engine]") {
  // The metric is misspelt in one trial; a predicate reads it.
  for (const Metrics& wrong :
       {Metrics{{"los", 1.0}, {"acc", 0.5}}, Metrics{{"loss", "unavailable"}, {"acc", 0.5}}}) {
    EngineOptions options = minimise_loss();
    options.searcher_objective = Objective{"acc", Mode::max};
    options.searcher_wants_results = true;
    options.stop = stop_when([](const Trial&, const Result& result) {
      return result.metrics.at("loss").as_double() < 0.1;
    });
    EngineBench bench(options);
    bench.join(0, 2).suggest(0).suggest(1).report(0, 1, wrong);
    CHECK(bench.given<RecordResult>().size() == 1);
    CHECK(bench.given<TellSearcherResult>().empty());
    bench.end(0, EndKind::stopped, "");
    CHECK(bench.state(0).state == TrialState::error);
    CHECK_FALSE(bench.engine.is_finished());
    CHECK(bench.engine.counts().running == 1);
  }
}

TEST_CASE("without strict_metric a first result without the metric is recorded, not told",
          "[engine]") {
  EngineOptions options = minimise_loss();
  options.strict_metric = false;
  EngineBench bench(options);
  bench.join().suggest(0).report(0, 1, {{"epoch", 1}}).report(0, 2);
  CHECK(bench.ever<RecordResult>().size() == 2);
  CHECK(bench.scheduler.told.size() == 1);
}

TEST_CASE("without an objective no metric is asked for", "[engine]") {
  EngineBench bench(EngineOptions{});
  bench.join().suggest(0).report(0, 1, {{"whatever", "text"}});
  CHECK(bench.scheduler.told.size() == 1);
  CHECK(std::isnan(bench.scheduler.told.at(0).target()));
}

TEST_CASE("a text objective is an error that names metric and type", "[ME-06]") {
  EngineBench bench(minimise_loss());
  bench.join().suggest(0).report(0, 1).report(0, 2, {{"loss", "unavailable"}});
  CHECK(bench.given<RecordResult>().size() == 1);  // logged all the same
  bench.end(0, EndKind::stopped, "");
  CHECK(bench.state(0).state == TrialState::error);
  CHECK_THAT(bench.state(0).error, Catch::Contains("\"loss\"") && Catch::Contains("text") &&
                                       Catch::Contains("unavailable"));
}

TEST_CASE("steps that go backwards bring one warning and no decision", "[ME-08]") {
  auto puppet = std::make_unique<PuppetScheduler>();
  puppet->own_time_attr = "step";
  EngineBench bench(minimise_loss(), std::move(puppet));
  bench.join().suggest(0);
  const auto at_step = [](int step) { return Metrics{{"loss", 1.0}, {"step", step}}; };
  bench.report(0, 1, at_step(10)).report(0, 2, at_step(8));
  CHECK(bench.given<RecordResult>().size() == 1);
  REQUIRE(bench.given<RecordWarning>().size() == 1);
  CHECK(bench.given<RecordWarning>().at(0).trial == TrialId{0});
  CHECK_THAT(bench.given<RecordWarning>().at(0).text, Catch::Contains("10 -> 8"));
  bench.report(0, 3, at_step(9)).report(0, 4, at_step(12));
  CHECK(bench.ever<RecordWarning>().size() == 1);
  REQUIRE(bench.scheduler.told.size() == 2);
  CHECK(bench.scheduler.told.back().training_iteration == 4);
}

TEST_CASE("progress that is NaN is no progress: warned of once, not told, not kept", "[engine]") {
  auto puppet = std::make_unique<PuppetScheduler>();
  puppet->own_time_attr = "epoch";
  EngineBench bench(minimise_loss(), std::move(puppet));
  bench.join().suggest(0);
  const auto at_epoch = [](double epoch) { return Metrics{{"loss", 1.0}, {"epoch", epoch}}; };
  bench.report(0, 1, at_epoch(std::nan("")));
  CHECK(bench.given<RecordResult>().size() == 1);
  CHECK(bench.given<Proceed>().size() == 1);
  REQUIRE(bench.given<RecordWarning>().size() == 1);
  CHECK(bench.given<RecordWarning>().at(0).text ==
        "epoch is nan at iteration 1; the scheduler is not told of such results");
  CHECK(bench.scheduler.told.empty());
  bench.report(0, 2, at_epoch(1)).report(0, 3, at_epoch(std::nan(""))).report(0, 4, at_epoch(2));
  CHECK(bench.ever<RecordWarning>().size() == 1);
  REQUIRE(bench.scheduler.told.size() == 2);
  CHECK(bench.scheduler.told.back().training_iteration == 4);
}

TEST_CASE("scheduler and searcher each see their own objective", "[ME-09]") {
  auto puppet = std::make_unique<PuppetScheduler>();
  puppet->own_objective = Objective{"loss", Mode::min};
  EngineOptions options;
  options.objective = Objective{"loss", Mode::max};  // theirs win over the experiment's
  options.searcher_objective = Objective{"acc", Mode::max};
  options.searcher_wants_results = true;
  EngineBench bench(options, std::move(puppet));
  bench.join().suggest(0).report(0, 1, {{"loss", 0.25}, {"acc", 0.75}});
  CHECK(bench.engine.context().mode() == Mode::min);
  CHECK(bench.scheduler.told.at(0).target() == 0.25);
  REQUIRE(bench.given<TellSearcherResult>().size() == 1);
  CHECK(bench.given<TellSearcherResult>().at(0).result.target() == 0.75);
  bench.end(0, EndKind::finished, "");
  CHECK(bench.scheduler.last->target() == 0.25);
  CHECK(bench.given<TellSearcherCompleted>().at(0).last.target() == 0.75);
  CHECK(bench.engine.context().finished_trials().at(TrialId{0}).last_target == 0.25);
}

TEST_CASE("a searcher is told the newest value of the metric, not that the last result had none",
          "[engine]") {
  EngineBench bench(minimise_loss());
  bench.join().suggest(0).report(0, 1, {{"loss", 0.5}}).report(0, 2, {{"loss", 0.25}});
  bench.report(0, 3, {{"epoch", 3}}).report(0, 4, {{"epoch", 4}});
  bench.end(0, EndKind::finished, "");
  const Result last = bench.given<TellSearcherCompleted>().at(0).last;
  CHECK(last.target() == 0.25);
  CHECK(last.training_iteration == 4);
}

TEST_CASE("an objective without a metric of its own takes the experiment's", "[engine]") {
  auto puppet = std::make_unique<PuppetScheduler>();
  puppet->own_objective = Objective{"", Mode::max};
  EngineBench bench(minimise_loss(), std::move(puppet));
  bench.join().suggest(0).report(0, 1, {{"loss", 0.25}});
  CHECK(bench.engine.context().mode() == Mode::max);
  CHECK(bench.scheduler.told.at(0).target() == 0.25);
}

}  // namespace
}  // namespace tune::engine
