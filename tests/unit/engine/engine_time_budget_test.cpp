#include <cstdint>

#include <catch2/catch.hpp>

#include "engine_bench.hpp"

namespace tune::engine {
namespace {

TEST_CASE("time_budget counts the time that the experiment runs", "[session]") {
  EngineOptions options = with_a_retry();
  options.time_budget = Time(60);
  EngineBench bench(options);
  bench.begin(options);
  REQUIRE(bench.given<SetTimer>().size() == 1);
  CHECK(bench.given<SetTimer>().front().at == Time(60));
  bench.join().suggest(0);
  bench.now = Time(40);  // the time of the last event, whenever the next session is
  bench.begin(options);
  CHECK(bench.given<SetTimer>().front().at == Time(60));
}

TEST_CASE("with a larger time_budget the trials that it ended go on", "[session]") {
  EngineOptions options = with_a_retry();
  options.time_budget = Time(5);
  EngineBench first(options);
  first.begin(options).join(0, 2).suggest(0).suggest(1).report(0, 1).store(0, 1);
  first.now = Time(5);
  first.handle(TimerFired{0});
  first.end(0, EndKind::stopped, "");
  SECTION("after all have ended") {
    first.end(1, EndKind::stopped, "");
    CHECK(first.engine.is_finished());
  }
  SECTION("while one is on its way to the end") { CHECK_FALSE(first.engine.is_finished()); }

  options.time_budget = Time(9);
  EngineBench second(options);
  second.replay(first, {.out_of_time = true});
  CHECK(second.engine.reopenable().out_of_time == ids({0, 1}));
  second.begin(options, ids({0, 1})).join(0, 2);
  CHECK(second.launch(0).start_iteration == 1);
  CHECK(second.launch(1).start_iteration == 0);
  CHECK(second.engine.counts().terminated == 0);
}

TEST_CASE("a trial out of time has ended for all but scheduler and searcher", "[session]") {
  EngineOptions options = with_a_retry();
  options.time_budget = Time(5);
  EngineBench bench(options);
  bench.begin(options).join(0, 2).suggest(0).suggest(1).report(0, 1).store(0, 1);
  bench.now = Time(5);
  bench.handle(TimerFired{0});
  CHECK(bench.given<Stop>().size() == 2);
  CHECK(bench.given<Stop>().front().save);
  bench.end(0, EndKind::stopped, "").end(1, EndKind::failed);  // which is no failure of its own
  for (const std::uint64_t trial : {0, 1}) {
    CHECK(bench.state(trial).state == TrialState::terminated);
    CHECK(bench.state(trial).reason == "time budget of 5 s used up");
  }
  CHECK(bench.engine.counts().terminated == 2);
  CHECK(bench.scheduler.completed.empty());
  CHECK(bench.ever<TellSearcherCompleted>().empty());
  REQUIRE(bench.given<Finish>().size() == 1);
  CHECK_FALSE(bench.given<Finish>().front().end.interrupted);
  CHECK(bench.given<Finish>().front().end.terminated_trials == 2);
  CHECK(bench.given<Finish>().front().end.unfinished_trials == 0);
  SECTION("and stays so while no more is given") {
    bench.begin(options);
    CHECK(bench.engine.is_finished());
    CHECK(bench.state(0).state == TrialState::terminated);
    CHECK(bench.engine.counts().terminated == 2);
    CHECK(bench.engine.counts().total() == 2);
  }
  SECTION("and goes on with more") {
    options.time_budget = Time(9);
    bench.begin(options).join(0, 2);
    CHECK(bench.launch(0).start_iteration == 1);
    CHECK(bench.engine.counts().running == 2);
    CHECK(bench.engine.counts().total() == 2);
  }
}

TEST_CASE("what is decided on a trial out of time is carried out when it has time again",
          "[session]") {
  EngineOptions options = with_a_retry();
  options.time_budget = Time(5);
  EngineBench bench(options);
  Decision decision = Decision::proceed;
  bench.scheduler.result = [&decision](SchedulerContext& context, const Trial& trial, auto&) {
    if (trial.id() == TrialId{1} && decision == Decision::stop) context.stop(TrialId{0});
    if (trial.id() == TrialId{1} && decision == Decision::pause) context.pause(TrialId{0});
    return Decision::proceed;
  };
  bench.begin(options).join(0, 2).suggest(0).suggest(1).report(0, 1).store(0, 1).report(1, 1);
  bench.now = Time(5);
  bench.handle(TimerFired{0}).end(0, EndKind::stopped, "");
  decision = GENERATE(Decision::stop, Decision::pause);
  bench.report(1, 2).end(1, EndKind::stopped, "");
  CHECK(bench.state(0).reason == "time budget of 5 s used up");
  CHECK(bench.engine.counts().terminated == 2);
  options.time_budget = Time(9);
  bench.begin(options).join(0, 2);
  CHECK(bench.state(0).reason ==
        (decision == Decision::stop ? "stopped by puppet" : "paused by puppet"));
  CHECK(bench.scheduler.completed == (decision == Decision::stop ? ids({0}) : ids({})));
  CHECK(bench.engine.counts().total() == 2);
}

TEST_CASE("what came after the time was up is judged before the trial goes on", "[session]") {
  EngineOptions options = with_a_retry();
  options.time_budget = Time(5);
  options.stop = {{"training_iteration", 2}};
  EngineBench first(options);
  first.begin(options).join().suggest(0).report(0, 1);
  first.now = Time(5);
  first.handle(TimerFired{0}).report(0, 2).store(0, 2).end(0, EndKind::stopped, "");
  options.time_budget = Time(9);
  EngineBench second(options);
  second.replay(first, {.out_of_time = true});
  second.begin(options, second.engine.reopenable().out_of_time).join();
  CHECK(second.state(0).state == TrialState::terminated);
  CHECK(second.state(0).reason == "stop criterion training_iteration >= 2");
}

}  // namespace
}  // namespace tune::engine
