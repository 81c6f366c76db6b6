#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/event_json.hpp"
#include "engine_bench.hpp"

namespace tune::engine {
namespace {

TEST_CASE("RE-01: what ran goes on from its last checkpoint in the next session", "[session]") {
  const EngineOptions options = with_a_retry();
  EngineBench bench(options);
  bench.begin(options).join(0, 2).suggest(0).suggest(1);
  bench.report(0, 1).store(0, 1).report(0, 2).report(1, 1);
  bench.begin(options);
  CHECK(bench.state(0).state == TrialState::pending);
  CHECK(bench.state(0).error.empty());
  CHECK(bench.state(1).state == TrialState::pending);
  CHECK(bench.engine.counts().running == 0);
  bench.join(0, 2);
  REQUIRE(bench.given<Launch>().size() == 2);
  CHECK(bench.launch(0).start_iteration == 1);
  CHECK(bench.launch(0).incarnation == 2);
  CHECK(bench.launch(0).checkpoint->directory_name == "checkpoint_000001");
  CHECK(bench.launch(1).start_iteration == 0);
  bench.report(0, 2).report(0, 3);
  CHECK(bench.scheduler.told.size() == 4);  // 1, 2, 3 of trial 0 and 1 of trial 1, once each
}

TEST_CASE("messages of the session before are refused", "[session]") {
  const EngineOptions options = with_a_retry();
  EngineBench bench(options);
  bench.begin(options).join().suggest(0).report(0, 1).begin(options);
  bench.handle(TrialMessage{TrialId(0), 1, 1, Ended{EndKind::failed, "late"}});
  CHECK(bench.engine.counts().refused_messages == 1);
  CHECK(bench.engine.counts().pending == 1);
}

TEST_CASE("FA-09: what was interrupted goes on in the next session", "[session]") {
  const EngineOptions options = with_a_retry();
  EngineBench bench(options);
  bench.begin(options).join(0, 2).suggest(0).suggest(1).report(0, 1);
  bench.handle(StopRequested{.reason = "Ctrl-C", .interrupts = true});
  bench.store(0, 1).end(0, EndKind::stopped, "").end(1, EndKind::stopped, "");
  REQUIRE(bench.engine.is_finished());
  bench.begin(options);
  CHECK_FALSE(bench.engine.is_finished());
  bench.join(0, 2);
  CHECK(bench.launch(0).start_iteration == 1);
  CHECK(bench.launch(1).start_iteration == 0);
  CHECK(bench.given<AskSearcher>().empty());
}

TEST_CASE("a trial that the scheduler paused stays so in the next session", "[session]") {
  const EngineOptions options = with_a_retry();
  EngineBench bench(options);
  bench.scheduler.result = [](auto&, auto&, auto&) { return Decision::pause; };
  bench.begin(options).join().suggest(0).report(0, 1).store(0, 1).end(0, EndKind::paused, "");
  bench.begin(options).join();
  CHECK(bench.given<Launch>().empty());
  CHECK(bench.state(0).state == TrialState::paused);
}

TEST_CASE("a recorded end is an end: a stop that was decided is not undone", "[session]") {
  const EngineOptions options = with_a_retry();
  EngineBench bench(options);
  bench.scheduler.result = [](auto&, auto&, auto&) { return Decision::stop; };
  bench.begin(options).join().suggest(0).report(0, 1);  // and no word of its end
  bench.begin(options);
  CHECK(bench.state(0).state == TrialState::terminated);
  CHECK(bench.state(0).reason == "stopped by puppet");
  CHECK(bench.scheduler.completed == ids({0}));
}

TEST_CASE("a suggestion that was never answered is asked for again", "[session]") {
  const EngineOptions options = with_a_retry();
  EngineBench bench(options);
  bench.begin(options).join(0, 2).suggest(0);
  REQUIRE(bench.given<AskSearcher>().size() == 1);
  bench.begin(options).join(0, 2);
  REQUIRE(bench.given<AskSearcher>().size() == 1);
  CHECK(bench.given<AskSearcher>().front().trial == TrialId(1));
}

TEST_CASE("a suggestion that came while the experiment ended is not lost", "[session]") {
  const EngineOptions options = with_a_retry();
  EngineBench bench(options);
  bench.begin(options).join(0, 2).suggest(0);
  bench.handle(StopRequested{.reason = "Ctrl-C", .interrupts = true}).suggest(1);
  CHECK(bench.given<RecordTrialAdded>().empty());
  bench.end(0, EndKind::stopped, "").begin(options);
  REQUIRE(bench.given<RecordTrialAdded>().size() == 1);
  CHECK(bench.given<RecordTrialAdded>().front().trial == TrialId(1));
  bench.join(0, 3);
  CHECK(bench.given<Launch>().size() == 2);
  CHECK(bench.given<AskSearcher>().at(0).trial == TrialId(2));
}

TEST_CASE("a pause before a retry does not outlive the session", "[session]") {
  const EngineOptions options = with_a_retry();
  EngineBench bench(options);
  bench.begin(options).join().suggest(0).end(0, EndKind::failed);
  CHECK(bench.given<SetTimer>().size() == 1);
  bench.begin(options).join();
  CHECK(bench.given<Launch>().size() == 1);
  bench.end(0, EndKind::failed);
  CHECK(bench.state(0).state == TrialState::error);  // the failure before counts on
}

TEST_CASE("RE-03: with a larger bound the trials that it stopped go on", "[session]") {
  EngineOptions options = with_a_retry();
  options.stop = {{"training_iteration", 2}};
  EngineBench first(options);
  first.scheduler.result = [](auto&, const Trial& trial, auto&) {
    return trial.id() == TrialId(1) ? Decision::stop : Decision::proceed;
  };
  first.begin(options).join(0, 3).suggest(0).suggest(1).suggest(2);
  first.report(0, 1).store(0, 1).report(0, 2).end(0, EndKind::stopped, "");
  first.report(1, 1).end(1, EndKind::stopped, "");
  first.report(2, 1).report(2, 2, {{"loss", 1.0}}, /*done=*/true).end(2, EndKind::finished, "");

  options.stop = {{"training_iteration", 4}};
  EngineBench second(options);
  second.replay(first, {.beyond_bound = true});
  CHECK(second.engine.reopenable().beyond_bound == ids({0}));
  second.begin(options, ids({0}));
  CHECK(second.state(0).state == TrialState::pending);
  CHECK(second.engine.counts().terminated == 2);
  second.join(0, 3);
  CHECK(second.launch(0).start_iteration == 1);
  second.report(0, 2);
  CHECK(second.ever<RecordResult>().back().result.done == false);
  second.report(0, 3).report(0, 4);
  CHECK(second.ever<RecordResult>().back().result.done);
  second.end(0, EndKind::stopped, "");
  CHECK(second.state(0).reason == "stop criterion training_iteration >= 4");

  EngineBench third(options);  // and a replay of both sessions comes to the same
  third.replay(second, {.named = {TrialId(0)}});
  CHECK(third.engine.counts() == second.engine.counts());
  CHECK(third.state(0).reason == second.state(0).reason);
}

TEST_CASE("a pause that is decided on a trial that was interrupted holds", "[session]") {
  const EngineOptions options = with_a_retry();
  EngineBench bench(options);
  bench.scheduler.result = [](SchedulerContext& context, const Trial& trial, const Result& r) {
    if (trial.id() == TrialId{1} && r.training_iteration == 2) context.pause(TrialId{0});
    return Decision::proceed;
  };
  bench.begin(options).join(0, 2).suggest(0).suggest(1).report(0, 1).store(0, 1).report(1, 1);
  bench.handle(StopRequested{.reason = "Ctrl-C", .interrupts = true});
  bench.end(0, EndKind::stopped, "").report(1, 2).end(1, EndKind::stopped, "");
  bench.begin(options).join(0, 2);
  CHECK(bench.state(0).state == TrialState::paused);
  CHECK(bench.engine.counts().paused == 1);
}

TEST_CASE("RE-04: failed trials go on where they were, or start anew", "[session]") {
  EngineOptions options = with_a_retry();
  options.max_failures = 0;
  EngineBench first(options);
  first.begin(options).join(0, 3).suggest(0).suggest(1).suggest(2);
  first.report(0, 1).store(0, 1).report(0, 2).end(0, EndKind::failed);
  first.report(1, 1).end(1, EndKind::finished, "");
  first.end(2, EndKind::invalid);
  EngineBench second(options);
  second.replay(first, {.failed = true});
  CHECK(second.engine.reopenable().failed == ids({0}));  // an invalid configuration stays so
  SECTION("from the last checkpoint") {
    second.begin(options, ids({0})).join(0, 3);
    CHECK(second.launch(0).start_iteration == 1);
    CHECK(second.given<RecordRestarted>().empty());
  }
  SECTION("from nothing") {
    second.begin(options, {}, ids({0}));
    CHECK(second.given<RecordRestarted>().size() == 1);
    CHECK(second.given<DeleteCheckpoint>().size() == 1);
    second.join(0, 3);
    CHECK(second.launch(0).start_iteration == 0);
    CHECK(second.launch(0).incarnation == 2);
    CHECK_FALSE(second.launch(0).checkpoint);
  }
  CHECK(second.engine.counts().error == 1);
  second.report(0, second.launch(0).start_iteration + 1);
  CHECK(second.engine.counts().running >= 1);
}

TEST_CASE("a recorded decision wins over today's scheduler, and the difference is told",
          "[session]") {
  const EngineOptions options = with_a_retry();
  EngineBench first(options);
  first.scheduler.result = [](SchedulerContext& context, const Trial& trial, auto&) {
    context.explain(trial.id(), "a whim");
    return Decision::stop;
  };
  first.begin(options).join().suggest(0).report(0, 1).end(0, EndKind::stopped, "");
  EngineBench other(options);  // which would go on
  other.replay(first);
  CHECK(other.state(0).reason == "stopped by puppet");
  CHECK_THAT(other.engine.replay_difference(), Catch::Contains("\"decision\":\"stop\""));
  CHECK(other.ever<RecordExplanation>().size() == 1);

  EngineBench same(options);
  same.scheduler.result = first.scheduler.result;
  CHECK(same.replay(first).engine.replay_difference().empty());
}

TEST_CASE("a replay gives what the scheduler says today to each question", "[session]") {
  const EngineOptions options = with_a_retry();
  EngineBench first(options);
  first.scheduler.result = [](auto&, auto&, auto&) { return Decision::stop; };
  first.begin(options).join().suggest(0).report(0, 1);
  EngineBench other(options);  // which would go on
  other.replay(first);
  const Decisions today = other.engine.take_decisions();
  REQUIRE_FALSE(today.empty());
  for (const RecordedAnswer& recorded : today) {
    const auto* answer = std::get_if<SchedulerAnswer>(&recorded.answer);
    REQUIRE(answer != nullptr);
    CHECK(answer->decision == Decision::proceed);
  }
  EngineBench unasked(options);
  unasked.replay(first, {}, /*asks_scheduler=*/false);
  CHECK(unasked.engine.take_decisions().empty());
}

TEST_CASE("a replay that leaves the scheduler alone does not call it", "[session]") {
  const EngineOptions options = with_a_retry();
  EngineBench first(options);
  first.begin(options).join().suggest(0).report(0, 1);
  EngineBench second(options);
  second.replay(first, {}, /*asks_scheduler=*/false);
  CHECK(second.scheduler.told.empty());
  CHECK(second.engine.counts() == first.engine.counts());
}

TEST_CASE("decisions of another engine are refused", "[session]") {
  const EngineOptions options = with_a_retry();
  EngineBench first(options);
  first.begin(options).join().suggest(0).report(0, 1);
  for (auto& step : first.history) {
    if (std::holds_alternative<SuggestionReady>(step.event)) {
      step.decisions = {{0, CriteriaAnswer{"stop", ""}}};
    }
  }
  EngineBench second(options);
  CHECK_THROWS_WITH(second.replay(first), Catch::Contains("another version"));
}

TEST_CASE("a trial that was killed on its way to a pause gets there in the next session",
          "[session]") {
  EngineOptions options = with_a_retry();
  options.retry_pause = Time(0);
  EngineBench bench(options);
  bench.scheduler.result = [](SchedulerContext& context, const Trial& trial, const Result& result) {
    context.no_decision_before(trial.id(), 9);
    return result.training_iteration == 3 ? Decision::pause : Decision::proceed;
  };
  bench.begin(options).join(0, 2).suggest(0).report(0, 1).store(0, 1).report(0, 2).report(0, 3);
  bench.begin(options).join(0, 2);  // killed before the checkpoint of iteration 3
  CHECK(bench.launch(0).start_iteration == 1);
  SECTION("and waits there") {
    bench.report(0, 2);
    CHECK(bench.ever<Pause>().size() == 1);  // of the session before
    bench.report(0, 3);
    CHECK(bench.ever<Pause>().size() == 2);
    bench.store(0, 3).end(0, EndKind::paused);
    CHECK(bench.state(0).state == TrialState::paused);
  }
  SECTION("and fails on the way") {
    bench.report(0, 2).end(0, EndKind::failed);
    CHECK(bench.launch(0).start_iteration == 1);
    bench.report(0, 2).report(0, 3).store(0, 3).end(0, EndKind::paused);
    CHECK(bench.state(0).state == TrialState::paused);
  }
  SECTION("unless it is unpaused before") {
    bench.suggest(1);
    bench.scheduler.result = [](SchedulerContext& context, const Trial&, const Result&) {
      context.unpause(TrialId{0});
      return Decision::proceed;
    };
    bench.report(1, 1);
    bench.report(0, 2).report(0, 3);
    CHECK(bench.ever<Pause>().size() == 1);
  }
}

TEST_CASE("a clone that was killed before it had its checkpoint is made in the next session",
          "[session]") {
  const EngineOptions options = with_a_retry();
  EngineBench bench(options);
  bench.begin(options).join(0, 2).suggest(0).suggest(1);
  bench.report(0, 1).store(0, 1).report(1, 1).store(1, 1);
  bench.scheduler.result = [](SchedulerContext& context, const Trial& trial, const Result&) {
    if (trial.id() == TrialId{1}) {
      CHECK(context.exploit(TrialId{1}, TrialId{0}, Config(Json{{"x", 7}})));
    }
    return Decision::proceed;
  };
  bench.report(1, 2).end(1, EndKind::stopped);
  REQUIRE(bench.launch(1).adopt_as);
  bench.begin(options).join(0, 2);
  REQUIRE(bench.launch(1).adopt_as);
  CHECK(bench.launch(1).incarnation == 3);
  CHECK(bench.launch(1).config["x"].get<int>() == 7);
  CHECK(bench.launch(1).checkpoint->trial_name == bench.launch(0).trial_name);
  CHECK(bench.launch(1).start_iteration == 2);
}

TEST_CASE("a function of resources is not asked again in a replay", "[session]") {
  EngineOptions options = with_a_retry();
  options.resources.of = [](const Config&) { return Resources{.cpu = 2}; };
  EngineBench first(options);
  first.begin(options).join(0, 3).suggest(0);
  options.resources.of = [](const Config&) -> Resources { throw std::runtime_error("gone"); };
  EngineBench second(options);
  second.replay(first, {}, /*asks_scheduler=*/false);
  CHECK(second.launch(0).grant.cpu() == 2);
}

TEST_CASE("a fault leaves what ran unfinished, so that it can go on", "[session]") {
  const EngineOptions options = with_a_retry();
  EngineBench bench(options);
  bench.scheduler.result = [](auto&, auto&, auto&) -> Decision { throw std::runtime_error("bug"); };
  bench.begin(options).join().suggest(0).report(0, 1);
  bench.store(0, 1).end(0, EndKind::stopped, "");
  CHECK(bench.state(0).state == TrialState::paused);
  CHECK(bench.ever<Finish>().back().end.error ==
        "scheduler puppet threw in on_trial_result of "
        "trial 0: bug");
  bench.scheduler.result = {};
  bench.begin(options).join();
  CHECK(bench.launch(0).start_iteration == 1);
}

}  // namespace
}  // namespace tune::engine
