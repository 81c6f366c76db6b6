#include <chrono>

#include <catch2/catch.hpp>

#include "engine_bench.hpp"

namespace tune::engine {
namespace {

EngineOptions with_pauses(std::int64_t max_failures = -1) {
  EngineOptions options = minimise_loss();
  options.max_failures = max_failures;
  options.retry_pause = Time(2);
  options.max_retry_pause = Time(10);
  return options;
}

/// Fires the timer that was set last, at its time.
void wait_for_timer(EngineBench& bench) {
  const SetTimer timer = bench.ever<SetTimer>().back();
  bench.now = timer.at;
  bench.handle(TimerFired{timer.timer});
}

TEST_CASE("FA-03: the pause before a retry doubles up to its bound", "[FA-03]") {
  EngineBench bench(with_pauses());
  bench.now = Time(100);
  bench.join().suggest(0);
  for (const double pause : {2.0, 4.0, 8.0, 10.0, 10.0}) {
    const auto starts = bench.ever<Launch>().size();
    bench.end(0, EndKind::failed);
    CHECK(bench.state(0).state == TrialState::pending);
    CHECK(bench.engine.counts().pending == 1);
    REQUIRE(bench.given<SetTimer>().size() == 1);
    CHECK(bench.given<SetTimer>().at(0).at == bench.now + Time(pause));
    CHECK(bench.ever<Launch>().size() == starts);
    CHECK(bench.engine.waiting_reason() == "the searcher is thinking");  // its slot is free
    wait_for_timer(bench);
    CHECK(bench.ever<Launch>().size() == starts + 1);
  }
  CHECK(bench.state(0).reason == "failed 5 times, goes back to the start in 10 s");
}

TEST_CASE("each trial has its own count of failures for its pause", "[engine]") {
  EngineBench bench(with_pauses());
  bench.join(0, 2).suggest(0).suggest(1);
  bench.end(0, EndKind::failed);
  wait_for_timer(bench);
  bench.end(0, EndKind::failed);
  CHECK(bench.given<SetTimer>().at(0).at == bench.now + Time(4));
  bench.end(1, EndKind::failed);
  CHECK(bench.given<SetTimer>().at(0).at == bench.now + Time(2));
}

TEST_CASE("without a pause, or for a lost node, a retry starts at once", "[FA-12]") {
  EngineOptions options = with_pauses();
  options.max_retry_pause = Time(0);
  EngineBench at_once(options);
  at_once.join().suggest(0).end(0, EndKind::failed);
  CHECK(at_once.given<SetTimer>().empty());
  CHECK(at_once.given<Launch>().size() == 1);

  EngineBench lost(with_pauses());
  lost.join(0).suggest(0).join(1).suggest(1).leave(0);
  CHECK(lost.ever<SetTimer>().empty());
  CHECK(lost.end(1, EndKind::finished).given<Launch>().size() == 1);
}

TEST_CASE("while a trial waits for its retry its slot runs others", "[engine]") {
  EngineBench bench(with_pauses());
  bench.join().suggest(0).end(0, EndKind::failed);
  CHECK(bench.given<AskSearcher>().size() == 1);
  bench.suggest(1);
  CHECK(bench.launch(1).node == NodeId{0});
  wait_for_timer(bench);
  CHECK(bench.given<Launch>().empty());  // its turn comes when the slot is free
  bench.report(1, 1).end(1, EndKind::finished);
  CHECK(bench.launch(0).incarnation == 2);
}

TEST_CASE("the experiment does not end while a trial waits for its retry", "[engine]") {
  EngineBench bench(with_pauses());
  bench.join(0, 3).suggest(0).report(0, 1).suggest(1).exhaust(2);
  bench.end(0, EndKind::failed).report(1, 1).end(1, EndKind::finished);
  CHECK_FALSE(bench.engine.is_finished());
  CHECK(bench.state(0).state == TrialState::pending);
  CHECK(bench.engine.waiting_reason() == "trial 0 waits for its retry");
  wait_for_timer(bench);
  bench.report(0, 1).end(0, EndKind::finished);
  CHECK(bench.ever<Finish>().at(0).end.terminated_trials == 2);
}

TEST_CASE("a trial that waits for its retry can be stopped, and its timer does no harm",
          "[engine]") {
  EngineBench bench(with_pauses());
  bench.scheduler.result = [](SchedulerContext& context, const Trial& trial, const Result&) {
    if (trial.id() == TrialId{1}) context.stop(TrialId{0});
    return Decision::proceed;
  };
  bench.join().suggest(0).report(0, 1).end(0, EndKind::failed).suggest(1).report(1, 1);
  CHECK(bench.state(0).state == TrialState::terminated);
  CHECK(bench.scheduler.completed == std::vector{TrialId{0}});
  wait_for_timer(bench);
  CHECK(bench.commands.empty());
}

TEST_CASE("what is decided of a trial that waits for its retry does not cut the pause short",
          "[engine]") {
  EngineBench bench(with_pauses());
  bench.scheduler.result = [](SchedulerContext& context, const Trial& trial, const Result& result) {
    if (trial.id() != TrialId{1}) return Decision::proceed;
    if (result.training_iteration == 1) {
      context.pause(TrialId{0});
    } else {
      context.unpause(TrialId{0});
      CHECK(context.exploit(TrialId{0}, TrialId{1}, Config(Json{{"x", 7}})));
    }
    return Decision::proceed;
  };
  bench.join(0, 2).suggest(0).end(0, EndKind::failed).suggest(1).report(1, 1);
  CHECK(bench.state(0).state == TrialState::paused);
  bench.store(1, 1).report(1, 2).exhaust(2);
  CHECK(bench.state(0).reason == "exploits trial 1");
  CHECK(bench.ever<Launch>().size() == 2);
  wait_for_timer(bench);
  CHECK(bench.launch(0).config == Config(Json{{"x", 7}}));
}

TEST_CASE("a trial that takes its nodes down ends as an error", "[engine]") {
  EngineOptions options = minimise_loss();
  options.max_node_failures = 2;
  options.max_failures = -1;
  EngineBench bench(options);
  bench.join(0).suggest(0).report(0, 1).leave(0).join(1).leave(1).join(2);
  CHECK(bench.given<Launch>().size() == 1);
  SECTION("after so many without a new result") {
    bench.report(0, 1).leave(2);  // it was told before
    CHECK(bench.state(0).state == TrialState::error);
    CHECK(bench.state(0).reason == "lost with its node 3 times");
    CHECK_THAT(bench.state(0).error, Catch::Contains("max_node_failures is 2"));
  }
  SECTION("a new result begins the count anew") {
    bench.report(0, 1).report(0, 2).leave(2).join(3).leave(3).join(4);
    CHECK(bench.given<Launch>().size() == 1);
    bench.leave(4);
    CHECK(bench.state(0).state == TrialState::error);
  }
  SECTION("failures do not count") {
    bench.end(0, EndKind::failed, "no").end(0, EndKind::failed, "no");
    CHECK(bench.state(0).state != TrialState::error);
  }
}

TEST_CASE("choosing a trial that waits for its retry leaves the slot free", "[engine]") {
  for (const bool is_paused : {false, true}) {
    EngineBench bench(with_pauses());
    bench.scheduler.choose = [](SchedulerContext& context) -> std::optional<TrialId> {
      CHECK((context.find(TrialId{0}) == nullptr || !context.find(TrialId{0})->waits_for_retry() ||
             context.pending_trials().empty()));
      return context.live_trials().empty() ? std::nullopt : std::optional(TrialId{0});
    };
    bench.scheduler.result = [=](SchedulerContext&, const Trial&, const Result&) {
      return is_paused ? Decision::pause : Decision::proceed;
    };
    bench.join().suggest(0).report(0, 1).end(0, EndKind::failed);
    CHECK(bench.state(0).state == (is_paused ? TrialState::paused : TrialState::pending));
    CHECK(bench.ever<Launch>().size() == 1);
    CHECK_FALSE(bench.engine.is_finished());
    wait_for_timer(bench);
    CHECK(bench.launch(0).incarnation == 2);
  }
}

TEST_CASE("one error more than max_experiment_failures interrupts the experiment", "[engine]") {
  for (const std::int64_t limit : {0, 1, -1}) {
    EngineOptions options = minimise_loss();
    options.max_experiment_failures = limit;
    EngineBench bench(options);
    bench.join(0, 3).suggest(0).suggest(1).suggest(2);
    bench.end(0, EndKind::invalid, "x < 0.5");  // counts as well
    CHECK(bench.given<Stop>().size() == (limit == 0 ? 2U : 0U));
    bench.end(1, EndKind::failed);
    if (limit == -1) {
      CHECK(bench.ever<Stop>().empty());
      continue;
    }
    bench.end(2, EndKind::stopped, "");
    REQUIRE(bench.ever<Finish>().size() == 1);
    const ExperimentEnd end = bench.ever<Finish>().at(0).end;
    CHECK(end.interrupted);
    CHECK(end.error.empty());
    CHECK(end.failed_trials == limit + 1);
    CHECK(end.reason == std::to_string(limit + 1) + (limit == 0 ? " trial" : " trials") +
                            " failed, and max_experiment_failures is " + std::to_string(limit));
  }
}

TEST_CASE("a failure that is retried counts against no limit of the experiment", "[engine]") {
  EngineOptions options = minimise_loss();
  options.max_failures = 1;
  options.fail_fast = true;
  options.max_experiment_failures = 0;
  EngineBench bench(options);
  bench.join().suggest(0).end(0, EndKind::failed);
  CHECK(bench.given<Launch>().size() == 1);
  bench.end(0, EndKind::failed);
  CHECK(bench.engine.is_finished());
}

TEST_CASE("FA-05: fail_fast leaves the others unfinished at their last checkpoint", "[FA-05]") {
  EngineOptions options = minimise_loss();
  options.fail_fast = true;
  options.checkpoint.every = 1;
  EngineBench bench(options);
  bench.join(0, 4).suggest(0).suggest(1).suggest(2).suggest(3);
  for (const std::uint64_t trial : {0, 1, 2, 3}) {
    for (const std::int64_t iteration : {1, 2})
      bench.report(trial, iteration).store(trial, iteration);
  }
  bench.end(0, EndKind::failed);
  CHECK(bench.state(0).state == TrialState::error);
  REQUIRE(bench.given<Stop>().size() == 3);
  for (const std::uint64_t trial : {1, 2, 3}) {
    bench.report(trial, 3).store(trial, 3).end(trial, EndKind::stopped, "");
    CHECK(bench.state(trial).state == TrialState::paused);
    CHECK(bench.state(trial).reason == "interrupted: trial 0 failed, and fail_fast is set");
  }
  REQUIRE(bench.ever<Finish>().size() == 1);
  const ExperimentEnd end = bench.ever<Finish>().at(0).end;
  CHECK(end.interrupted);
  CHECK(end.reason == "trial 0 failed, and fail_fast is set");
  CHECK(end.error.empty());
  CHECK(end.failed_trials == 1);
  CHECK(end.unfinished_trials == 3);
  CHECK(bench.scheduler.completed.empty());
  CHECK(bench.ever<TellSearcherCompleted>().empty());
}

TEST_CASE("a trial that is refused its resources counts for fail_fast", "[engine]") {
  EngineOptions options = minimise_loss();
  options.fail_fast = true;
  options.resources = {.cpu = 11};
  EngineBench bench(options);
  bench.join(0, 4).suggest(0);
  REQUIRE(bench.given<Finish>().size() == 1);
  CHECK(bench.given<Finish>().at(0).end.interrupted);
}

}  // namespace
}  // namespace tune::engine
