#include <cmath>
#include <stdexcept>

#include <catch2/catch.hpp>

#include "engine_bench.hpp"

namespace tune::engine {
namespace {

std::unique_ptr<PuppetScheduler> deciding(TrialId who, std::int64_t iteration, Decision decision) {
  auto puppet = std::make_unique<PuppetScheduler>();
  puppet->result = [=](SchedulerContext&, const Trial& trial, const Result& result) {
    const bool is_now = trial.id() == who && result.training_iteration == iteration;
    return is_now ? decision : Decision::proceed;
  };
  return puppet;
}

/// Two trials run; at trial 0's first result the scheduler asks for something.
EngineBench asking(std::function<void(SchedulerContext&)> request,
                   EngineOptions options = minimise_loss()) {
  auto puppet = std::make_unique<PuppetScheduler>();
  puppet->result = [request = std::move(request)](SchedulerContext& context, const Trial& trial,
                                                  const Result& result) {
    if (trial.id() == TrialId{0} && result.training_iteration == 1) request(context);
    return Decision::proceed;
  };
  return EngineBench(std::move(options), std::move(puppet));
}

TEST_CASE("a stop marks the very row as done and lets the trial make no further step", "[engine]") {
  EngineBench bench(minimise_loss(), deciding(TrialId{0}, 2, Decision::stop));
  bench.join().suggest(0).report(0, 1);
  CHECK_FALSE(bench.given<RecordResult>().at(0).result.done);
  CHECK(bench.given<Proceed>().size() == 1);
  bench.report(0, 2);
  CHECK(bench.given<RecordResult>().at(0).result.done);
  CHECK(bench.given<Stop>().size() == 1);
  CHECK(bench.given<Proceed>().empty());
  bench.end(0, EndKind::stopped);
  CHECK(bench.state(0).state == TrialState::terminated);
  CHECK(bench.state(0).reason == "stopped by puppet");
  CHECK(bench.scheduler.completed == std::vector{TrialId{0}});
  REQUIRE(bench.scheduler.last);
  CHECK(bench.scheduler.last->training_iteration == 2);
}

TEST_CASE("a stop criterion marks its row and gives its reason", "[engine]") {
  EngineOptions options = minimise_loss();
  options.stop = StopCriteria{{"training_iteration", 2}};
  EngineBench bench(options);
  bench.join().suggest(0).report(0, 1).report(0, 2);
  CHECK(bench.given<RecordResult>().at(0).result.done);
  bench.end(0, EndKind::stopped);
  CHECK(bench.state(0).reason == "stop criterion training_iteration >= 2");
  CHECK(bench.scheduler.told.size() == 2);  // the row that stops it is told as well
}

TEST_CASE("a stop criterion holds for a row without the metric too", "[engine]") {
  EngineOptions options = minimise_loss();
  options.stop = StopCriteria{{"training_iteration", 2}};
  EngineBench bench(options);
  bench.join().suggest(0).report(0, 1).report(0, 2, {{"other", 1}});
  CHECK(bench.given<Stop>().size() == 1);
}

TEST_CASE("ME-07: a function that returns adds no row and is no stop criterion", "[ME-07]") {
  EngineOptions options = minimise_loss();
  options.stop = StopCriteria{{"acc", 60}};
  EngineBench bench(options);
  bench.join().suggest(0);
  for (int i = 1; i <= 41; ++i) bench.report(0, i, {{"loss", 1.0}, {"acc", i}});
  bench.end(0, EndKind::finished, "");
  CHECK(bench.ever<RecordResult>().size() == 41);
  CHECK_FALSE(bench.ever<RecordResult>().back().result.done);
  CHECK(bench.state(0).state == TrialState::terminated);
  CHECK(bench.state(0).reason == "trainable finished");
}

TEST_CASE("a reported done is an end even if the node is lost before the trial says so",
          "[engine]") {
  EngineBench bench(minimise_loss());
  bench.join(0).join(1).suggest(0).report(0, 1, {{"loss", 1.0}}, /*done=*/true);
  CHECK(bench.given<Proceed>().empty());
  CHECK(bench.given<Stop>().empty());
  bench.leave(0);
  CHECK(bench.state(0).state == TrialState::terminated);
  CHECK(bench.state(0).reason == "trainable finished");
  CHECK(bench.ever<Launch>().size() == 1);
}

TEST_CASE("a decided stop stays decided when the trial crashes before it hears of it", "[engine]") {
  EngineOptions options = minimise_loss();
  options.max_failures = -1;
  EngineBench bench(options, deciding(TrialId{0}, 1, Decision::stop));
  bench.join().suggest(0).report(0, 1).end(0, EndKind::failed);
  CHECK(bench.state(0).state == TrialState::terminated);
  CHECK(bench.ever<Launch>().size() == 1);
  CHECK(bench.scheduler.failed.empty());
}

TEST_CASE("a stop of another trial takes effect at once; its later results are not told",
          "[engine]") {
  EngineOptions options = minimise_loss();
  options.searcher_wants_results = true;
  EngineBench bench = asking([](SchedulerContext& context) { context.stop(TrialId{1}); }, options);
  bench.join(0, 2).suggest(0).suggest(1).report(0, 1);
  REQUIRE(bench.given<Stop>().size() == 1);
  CHECK(bench.given<Stop>().at(0).trial == TrialId{1});
  bench.report(1, 1);
  CHECK(bench.given<RecordResult>().size() == 1);
  CHECK(bench.given<TellSearcherResult>().empty());
  CHECK(bench.scheduler.told.size() == 1);
}

TEST_CASE("a pending trial that is stopped ends without a start", "[engine]") {
  EngineOptions options = minimise_loss();
  options.fixed_cluster = false;
  options.resources.of = [](const Config& config) {
    return Resources{.cpu = config["x"].get<int>() == 0 ? 1.0 : 2.0};
  };
  EngineBench bench = asking([](SchedulerContext& context) { context.stop(TrialId{1}); }, options);
  bench.join(0, 1).suggest(0).suggest(1).report(0, 1);
  CHECK(bench.state(1).state == TrialState::terminated);
  CHECK(bench.scheduler.completed == std::vector{TrialId{1}});
  REQUIRE(bench.scheduler.last);
  CHECK(bench.scheduler.last->training_iteration == 0);
  REQUIRE(bench.given<TellSearcherCompleted>().size() == 1);
  CHECK(bench.given<TellSearcherCompleted>().at(0).last.training_iteration == 0);
}

TEST_CASE("a searcher is told whether the scheduler ended a trial", "[engine]") {
  const auto is_by_scheduler = [](EngineBench& bench) {
    bench.end(0, EndKind::stopped, "");
    return bench.given<TellSearcherCompleted>().at(0).last.stopped_by_scheduler;
  };
  EngineBench decided(minimise_loss(), deciding(TrialId{0}, 1, Decision::stop));
  decided.join().suggest(0).report(0, 1);
  CHECK(is_by_scheduler(decided));
  EngineBench asked = asking([](SchedulerContext& context) { context.stop(TrialId{0}); });
  asked.join().suggest(0).report(0, 1);
  CHECK(is_by_scheduler(asked));
  EngineOptions options = minimise_loss();
  options.stop = StopCriteria{{"training_iteration", 1}};
  EngineBench bounded(options, deciding(TrialId{0}, 1, Decision::stop));
  bounded.join().suggest(0).report(0, 1);
  CHECK_FALSE(is_by_scheduler(bounded));
}

TEST_CASE("a pause saves, gives the slot back, and goes on with the next iteration", "[engine]") {
  EngineBench bench(minimise_loss(), deciding(TrialId{0}, 1, Decision::pause));
  bench.join().suggest(0).report(0, 1);
  CHECK(bench.given<Pause>().size() == 1);
  CHECK(bench.given<Proceed>().empty());
  bench.store(0, 1).end(0, EndKind::paused, "");
  CHECK(bench.state(0).state == TrialState::paused);
  CHECK(bench.engine.free_resources(NodeId{0})->amount("cpu") == 1000);
  bench.scheduler.result = [](SchedulerContext& context, const Trial&, const Result&) {
    context.unpause(TrialId{0});
    return Decision::proceed;
  };
  bench.suggest(1).report(1, 1);  // it took the slot, and wakes the other
  CHECK(bench.state(0).state == TrialState::pending);
  bench.end(1, EndKind::finished, "");
  CHECK(bench.launch(0).start_iteration == 1);
  CHECK(bench.launch(0).start_time_total_s == 10);
  REQUIRE(bench.launch(0).checkpoint);
  CHECK(bench.launch(0).checkpoint->directory_name == "checkpoint_000001");
}

TEST_CASE("a paused trial that is stopped ends at once", "[engine]") {
  EngineBench bench(minimise_loss(), deciding(TrialId{0}, 1, Decision::pause));
  bench.join().suggest(0).report(0, 1).store(0, 1).end(0, EndKind::paused, "");
  bench.scheduler.result = [](SchedulerContext& context, const Trial&, const Result&) {
    context.stop(TrialId{0});
    return Decision::proceed;
  };
  bench.suggest(1).report(1, 1);
  CHECK(bench.state(0).state == TrialState::terminated);
}

TEST_CASE("an unpause that comes before the pause is carried out lets the trial go on",
          "[engine]") {
  EngineBench bench(minimise_loss(), deciding(TrialId{0}, 1, Decision::pause));
  bench.join(0, 2).suggest(0).suggest(1).report(0, 1);
  bench.scheduler.result = [](SchedulerContext& context, const Trial&, const Result&) {
    context.unpause(TrialId{0});
    return Decision::proceed;
  };
  bench.report(1, 1).store(0, 1).end(0, EndKind::paused, "");
  CHECK(bench.launch(0).incarnation == 2);
  CHECK(bench.launch(0).start_iteration == 1);
}

TEST_CASE("a save is asked of a running trial alone", "[engine]") {
  EngineBench bench = asking([](SchedulerContext& context) {
    context.save(TrialId{0});
    context.save(TrialId{7});
  });
  bench.join().suggest(0).report(0, 1);
  REQUIRE(bench.given<Save>().size() == 1);
  CHECK(bench.given<Save>().at(0).trial == TrialId{0});
}

TEST_CASE("an explanation is recorded", "[engine]") {
  EngineBench bench =
      asking([](SchedulerContext& context) { context.explain(TrialId{0}, "rung 1, 3rd of 9"); });
  bench.join().suggest(0).report(0, 1);
  REQUIRE(bench.given<RecordExplanation>().size() == 1);
  CHECK(bench.given<RecordExplanation>().at(0).reason == "rung 1, 3rd of 9");
}

TEST_CASE("other resources restart a running trial from what it saves", "[engine]") {
  EngineBench bench =
      asking([](SchedulerContext& context) { context.set_resources(TrialId{0}, {.cpu = 2}); });
  bench.join(0, 2).suggest(0).report(0, 1);
  CHECK(bench.given<Pause>().size() == 1);
  bench.store(0, 1).end(0, EndKind::paused, "");
  CHECK(bench.launch(0).grant.cpu() == 2);
  CHECK(bench.launch(0).start_iteration == 1);
}

TEST_CASE("other resources wait for the next start where nothing can be saved", "[engine]") {
  EngineOptions options = minimise_loss();
  options.trainable_checkpoints = false;
  options.max_failures = 1;
  EngineBench bench = asking(
      [](SchedulerContext& context) { context.set_resources(TrialId{0}, {.cpu = 2}); }, options);
  bench.join(0, 2).suggest(0).report(0, 1);
  CHECK(bench.given<Pause>().empty());
  CHECK(bench.given<Proceed>().size() == 1);
  REQUIRE(bench.given<RecordWarning>().size() == 1);
  CHECK(bench.given<RecordWarning>().front().trial == TrialId{0});
  CHECK(bench.given<RecordWarning>().front().text ==
        "other resources only from its next start: the trainable cannot save checkpoints");
  bench.end(0, EndKind::failed);
  CHECK(bench.launch(0).grant.cpu() == 2);
}

TEST_CASE("fewer resources let a trial that had no room start at once", "[engine]") {
  EngineOptions options = minimise_loss();
  options.resources.of = [](const Config& config) {
    return Resources{.cpu = config["x"].get<int>() == 0 ? 1.0 : 4.0};
  };
  EngineBench bench = asking(
      [](SchedulerContext& context) { context.set_resources(TrialId{1}, {.cpu = 1}); }, options);
  bench.join(0, 4).suggest(0).suggest(1);
  CHECK(bench.ever<Launch>().size() == 1);
  bench.report(0, 1);
  CHECK(bench.given<Launch>().size() == 1);
}

}  // namespace
}  // namespace tune::engine
