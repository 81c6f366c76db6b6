#include <catch2/catch.hpp>

#include <limits>

#include "engine/event_json.hpp"
#include "engine_bench.hpp"

namespace tune::engine {
namespace {

EngineOptions with_grace() {
  EngineOptions options = with_a_retry();
  options.fixed_cluster = false;
  options.driver_grace = Time(20);
  return options;
}

NodeJoined remote(std::uint64_t node, double cpu, std::vector<HeldRun> held = {}) {
  return {NodeId{node},
          "far" + std::to_string(node),
          ResourceAmounts(Resources{.cpu = cpu}),
          {},
          /*is_remote=*/true,
          std::move(held)};
}

/// Trials 0 and 1 run on a remote node, trial 0 up to iteration 2 with a checkpoint of 1; then the
/// driver dies, and another one begins.
void lose_driver(EngineBench& bench, const EngineOptions& options) {
  bench.begin(options).handle(remote(0, 2)).suggest(0).suggest(1);
  bench.report(0, 1).store(0, 1).report(0, 2).report(1, 1);
  bench.now = Time(100);
  bench.begin(options);
}

/// The timer that ends the grace of the session that has just begun.
TimerFired grace_timer(const EngineBench& bench) { return {bench.given<SetTimer>().back().timer}; }

TEST_CASE("what ran on a remote node waits for it in the next session", "[adrift]") {
  const EngineOptions options = with_grace();
  EngineBench bench(options);
  lose_driver(bench, options);
  CHECK(bench.engine.counts().running == 2);
  CHECK(bench.engine.counts().pending == 0);
  REQUIRE(bench.given<SetTimer>().size() == 1);
  CHECK(bench.given<SetTimer>()[0].at == Time(120));
  CHECK(bench.engine.waiting_reason() ==
        "2 trials wait for their nodes to come back with them (driver_grace)");
}

TEST_CASE("its node comes back: it goes on as if nothing had been", "[adrift]") {
  const EngineOptions options = with_grace();
  EngineBench bench(options);
  lose_driver(bench, options);
  bench.handle(remote(7, 2, {{TrialId{0}, 1}, {TrialId{1}, 1}}));
  REQUIRE(bench.given<Adopt>().size() == 2);
  CHECK(bench.given<Adopt>()[0].trial == TrialId{0});
  CHECK(bench.given<Adopt>()[0].node == NodeId{7});
  CHECK(bench.given<Adopt>()[0].next == 3);  // two results and a checkpoint are on record
  CHECK(bench.given<Adopt>()[1].next == 1);
  REQUIRE(bench.given<RecordTrialAdopted>().size() == 2);
  CHECK(bench.given<RecordTrialAdopted>()[0].start.start_iteration == 2);
  CHECK(bench.given<Proceed>().size() == 2);  // what was said last may have been lost
  CHECK(bench.engine.free_resources(NodeId{7})->amount("cpu") == 0);
  const std::size_t launches = bench.ever<Launch>().size();
  bench.report(0, 3).end(0, EndKind::finished, "");
  CHECK(bench.state(0).state == TrialState::terminated);
  CHECK(bench.scheduler.told.size() == 4);
  CHECK(bench.ever<Launch>().size() == launches);
}

TEST_CASE("without its node it goes back to its checkpoint when the grace is over", "[adrift]") {
  const EngineOptions options = with_grace();
  EngineBench bench(options);
  lose_driver(bench, options);
  const TimerFired timer = grace_timer(bench);
  bench.handle(remote(3, 4));  // one that holds nothing
  CHECK(bench.given<Launch>().empty());
  bench.now = Time(119);
  bench.handle(timer);
  CHECK(bench.given<Launch>().empty());
  bench.now = Time(120);
  bench.handle(timer);
  REQUIRE(bench.given<Launch>().size() == 2);
  CHECK(bench.launch(0).start_iteration == 1);
  CHECK(bench.launch(0).incarnation > 1);
  CHECK(bench.launch(0).stored_until == std::numeric_limits<std::int64_t>::max());
  // Its node comes late, and is told to end what it holds.
  bench.handle(remote(4, 2, {{TrialId{0}, 1}, {TrialId{1}, 1}}));
  CHECK(bench.given<Adopt>().empty());
}

TEST_CASE("what ran in the driver's process does not wait", "[adrift]") {
  const EngineOptions options = with_grace();
  EngineBench bench(options);
  bench.begin(options).join(0, 1).handle(remote(1, 1)).suggest(0).suggest(1);
  bench.report(0, 1).report(1, 1).begin(options);
  CHECK(bench.engine.counts().running == 1);
  CHECK(bench.engine.counts().pending == 1);
  CHECK(bench.state(0).state == TrialState::pending);
}

TEST_CASE("nothing waits on a cluster that nobody can join, or without a grace", "[adrift]") {
  EngineOptions options = with_grace();
  EngineBench bench(options);
  SECTION("fixed") {
    EngineOptions later = options;
    later.fixed_cluster = true;
    bench.begin(options).handle(remote(0, 1)).suggest(0).report(0, 1).begin(later);
  }
  SECTION("no grace") {
    options.driver_grace = Time(0);
    bench.begin(options).handle(remote(0, 1)).suggest(0).report(0, 1).begin(options);
  }
  CHECK(bench.engine.counts().running == 0);
  CHECK(bench.engine.counts().pending == 1);
}

TEST_CASE("a node cannot hand over what is another's, or what it has no room for", "[adrift]") {
  const EngineOptions options = with_grace();
  EngineBench bench(options);
  lose_driver(bench, options);
  SECTION("an incarnation that is not on record") {
    bench.handle(remote(1, 2, {{TrialId{0}, 2}, {TrialId{9}, 1}}));
    CHECK(bench.given<Adopt>().empty());
  }
  SECTION("twice") {
    bench.handle(remote(1, 2, {{TrialId{0}, 1}}));
    CHECK(bench.given<Adopt>().size() == 1);
    bench.handle(remote(2, 2, {{TrialId{0}, 1}}));
    CHECK(bench.given<Adopt>().empty());
  }
  SECTION("a node that has become smaller") {
    bench.handle(remote(1, 1, {{TrialId{0}, 1}, {TrialId{1}, 1}}));
    CHECK(bench.given<Adopt>().size() == 1);
    CHECK(bench.engine.free_resources(NodeId{1})->amount("cpu") == 0);
    CHECK(bench.state(1).state == TrialState::pending);  // nobody else can have it
  }
  SECTION("one of which the journal has lost a part that the node has not any more") {
    bench.handle(remote(1, 2, {{TrialId{0}, 1, 4}, {TrialId{1}, 1, 1}}));
    REQUIRE(bench.given<Adopt>().size() == 1);
    CHECK(bench.given<Adopt>()[0].trial == TrialId{1});
    CHECK(bench.launch(0).start_iteration == 1);  // in its place, from its checkpoint
    CHECK(bench.launch(0).incarnation > 1);
  }
}

TEST_CASE("what a trial tells before its node has handed it over is not taken", "[adrift]") {
  const EngineOptions options = with_grace();
  EngineBench bench(options);
  lose_driver(bench, options);
  bench.report(0, 3);
  CHECK(bench.engine.counts().refused_messages == 1);
  CHECK(bench.given<Proceed>().empty());
}

TEST_CASE("what the last session may have started off the record gets no number again",
          "[adrift]") {
  const EngineOptions options = with_grace();
  EngineBench bench(options);
  bench.begin(options).handle(remote(0, 1));
  bench.begin(options);  // before the suggestion of trial 0 was on record
  bench.handle(remote(1, 1, {{TrialId{0}, 1}}));
  CHECK(bench.given<Adopt>().empty());
  bench.suggest(0);
  const std::uint32_t first = bench.launch(0).incarnation;
  CHECK(first > 2);
  CHECK(bench.launch(0).stored_until == std::numeric_limits<std::int64_t>::max());
  bench.end(0, EndKind::failed);
  const TimerFired timer{bench.given<SetTimer>().back().timer};
  bench.now = Time(10);
  bench.handle(timer);
  CHECK(bench.launch(0).incarnation == first + 1);
}

TEST_CASE("a decision on a trial that waits for its node", "[adrift]") {
  EngineOptions options = with_grace();
  options.checkpoint.keep = 2;
  EngineBench bench(options);
  bench.scheduler.result = [](SchedulerContext& context, const Trial& trial, const Result& r) {
    if (trial.id() == TrialId{2} && r.training_iteration == 1) context.stop(TrialId{0});
    if (trial.id() == TrialId{2} && r.training_iteration == 2) context.pause(TrialId{1});
    return Decision::proceed;
  };
  lose_driver(bench, options);
  bench.join(5, 1).suggest(2);
  SECTION("a stop ends it at once") {
    bench.report(2, 1);
    CHECK(bench.state(0).state == TrialState::terminated);
    CHECK(bench.given<Stop>().empty());
    bench.handle(remote(7, 2, {{TrialId{0}, 1}, {TrialId{1}, 1}}));
    REQUIRE(bench.given<Adopt>().size() == 1);
    CHECK(bench.given<Adopt>()[0].trial == TrialId{1});
  }
  SECTION("a pause is told to it once it is back") {
    bench.report(2, 1).report(2, 2);
    CHECK(bench.given<Pause>().empty());
    bench.handle(remote(7, 2, {{TrialId{1}, 1}}));
    REQUIRE(bench.given<Pause>().size() == 1);
    CHECK(bench.given<Pause>()[0].node == NodeId{7});
    CHECK(bench.given<Proceed>().empty());
  }
  SECTION("an interrupt leaves it unfinished") {
    bench.handle(StopRequested{.reason = "Ctrl-C", .interrupts = true});
    CHECK(bench.state(0).state == TrialState::paused);
    CHECK(bench.state(1).state == TrialState::pending);
    bench.end(2, EndKind::stopped, "");
    CHECK(bench.engine.is_finished());
    bench.begin(options).join(0, 3);
    CHECK(bench.launch(0).start_iteration == 1);
    CHECK(bench.engine.counts().running == 3);
  }
}

TEST_CASE("its node ended it for want of the driver: that is no failure", "[adrift]") {
  const EngineOptions options = with_grace();
  EngineBench bench(options);
  lose_driver(bench, options);
  bench.handle(remote(7, 2, {{TrialId{0}, 1}, {TrialId{1}, 1}}));
  bench.end(0, EndKind::stopped, "");
  CHECK(bench.launch(0).incarnation > 2);  // there may have been one that is not on record
  CHECK(bench.launch(0).start_iteration == 1);
  CHECK(bench.engine.context().find(TrialId{0})->failures() == 0);
}

TEST_CASE("a node that is lost with what it handed over", "[adrift]") {
  const EngineOptions options = with_grace();
  EngineBench bench(options);
  lose_driver(bench, options);
  const TimerFired timer = grace_timer(bench);
  bench.handle(remote(7, 2, {{TrialId{0}, 1}, {TrialId{1}, 1}})).leave(7);
  CHECK(bench.engine.counts().pending == 2);
  bench.now = Time(200);
  bench.handle(timer);
  CHECK(bench.engine.counts().pending == 2);
}

TEST_CASE("a node of another number leaves those alone that wait for theirs", "[adrift]") {
  const EngineOptions options = with_grace();
  EngineBench bench(options);
  lose_driver(bench, options);
  bench.join(0, 1).leave(0);  // the number that the lost node had in the last session
  CHECK(bench.engine.counts().running == 2);
}

TEST_CASE("the driver dies once more: the wait begins anew, and a replay comes to the same",
          "[adrift]") {
  const EngineOptions options = with_grace();
  EngineBench bench(options);
  lose_driver(bench, options);
  const TimerFired timer = grace_timer(bench);
  bench.now = Time(110);
  bench.begin(options);
  bench.now = Time(120);
  bench.handle(timer);  // of the session before
  CHECK(bench.engine.counts().running == 2);
  bench.handle(remote(7, 2, {{TrialId{0}, 1}}));
  CHECK(bench.given<Adopt>().size() == 1);
  bench.report(0, 3);
  bench.now = Time(130);
  CHECK(bench.launch(1).incarnation == 1);
  bench.handle(timer);
  CHECK(bench.launch(1).incarnation > 1);

  EngineBench again(options);
  again.replay(bench);
  CHECK(again.launch(1).incarnation == bench.launch(1).incarnation);
  CHECK(again.engine.context().find(TrialId{0})->incarnation() == 1);
}

TEST_CASE("what is joined with survives its text", "[adrift]") {
  const EngineOptions options = with_grace();
  const auto read = std::get<NodeJoined>(
      event_of(record_of(remote(3, 1.5, {{TrialId{4}, 2}, {TrialId{0}, 1}})), options));
  CHECK(read.is_remote);
  REQUIRE(read.held.size() == 2);
  CHECK(read.held[0].trial == TrialId{4});
  CHECK(read.held[0].incarnation == 2);
  const auto local = std::get<NodeJoined>(
      event_of(record_of(NodeJoined{NodeId{1}, "n", ResourceAmounts(Resources{})}), options));
  CHECK_FALSE(local.is_remote);
  CHECK(local.held.empty());
  CHECK(with_session(EngineOptions(), session_json(options)).driver_grace == Time(20));
}

}  // namespace
}  // namespace tune::engine
