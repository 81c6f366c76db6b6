#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/event_json.hpp"
#include "engine_bench.hpp"

namespace tune::engine {
namespace {

using Catch::Contains;

// Each trial has a worker beside itself, on another node.
EngineOptions with_a_worker_elsewhere() {
  EngineOptions options = minimise_loss();
  options.resources = {.workers = {{}}, .strategy = GangStrategy::strict_spread};
  options.max_trials = 2;
  return options;
}

TEST_CASE("a launch has the grants of the workers too", "[engine]") {
  EngineOptions options = with_a_worker_elsewhere();
  options.fixed_cluster = false;
  EngineBench bench(options);
  CHECK(bench.join(0, 1).given<AskSearcher>().empty());
  CHECK(bench.join(1, 1).given<AskSearcher>().size() == 1);
  bench.suggest(0);
  const Launch launch = bench.launch(0);
  CHECK(launch.node == NodeId{0});
  REQUIRE(launch.workers.size() == 1);
  CHECK(launch.workers[0].node == NodeId{1});
  CHECK(launch.workers[0].resources.amounts.amount("cpu") == 1000);
  const Trial& trial = *bench.engine.context().find(TrialId{0});
  CHECK(trial.granted().amount("cpu") == 2000);
  CHECK(trial.request().workers.size() == 1);
  CHECK(bench.ever<AskSearcher>().size() == 1);  // no room for another
  bench.report(0, 1).end(0, EndKind::finished);
  CHECK(bench.given<AskSearcher>().size() == 1);
}

TEST_CASE("a large gang at the head is not overtaken by small trials", "[engine]") {
  EngineOptions options = minimise_loss();
  options.resources.of = [](const Config& config) {
    const bool is_large = config["x"].get<int>() == 3;
    return Resources{.workers = std::vector<Bundle>(is_large ? 3 : 0)};
  };
  EngineBench bench(options);
  bench.join(0, 2).join(1, 2);
  for (std::uint64_t trial = 0; trial < 4; ++trial) bench.suggest(trial);
  // It waits for all four cores. What comes free is kept for it, and nobody else is asked for.
  CHECK(bench.ever<AskSearcher>().size() == 4);
  for (std::uint64_t trial = 0; trial < 3; ++trial) {
    CHECK(bench.given<Launch>().empty());
    bench.report(trial, 1).end(trial, EndKind::finished);
    if (trial < 2) CHECK(bench.given<AskSearcher>().empty());
  }
  CHECK(bench.launch(3).workers.size() == 3);
}

TEST_CASE("a trial that loses a worker's node starts anew, which is no failure of it", "[engine]") {
  const auto kind = GENERATE(EndKind::stopped, EndKind::failed, EndKind::paused);
  EngineOptions options = with_a_worker_elsewhere();
  options.max_failures = 0;
  EngineBench bench(options);
  bench.join(0, 1).join(1, 1).suggest(0).report(0, 1).store(0, 1);
  bench.leave(1);
  REQUIRE(bench.given<Stop>().size() == 1);
  CHECK(bench.given<Stop>()[0].node == NodeId{0});
  CHECK_FALSE(bench.given<Stop>()[0].save);
  CHECK(bench.engine.free_resources(NodeId{0}) == ResourceAmounts());  // it still runs there
  bench.join(2, 1);
  CHECK(bench.given<Launch>().empty());
  bench.end(0, kind);
  CHECK(bench.state(0).state == TrialState::pending);
  CHECK(bench.state(0).reason == "node node1 lost with workers of it");
  REQUIRE(bench.given<Launch>().size() == 1);
  CHECK(bench.launch(0).workers.at(0).node == NodeId{2});
  CHECK(bench.launch(0).start_iteration == 1);
  CHECK(bench.engine.context().find(TrialId{0})->failures() == 0);
}

TEST_CASE("what a gang held on a node that comes back is not given back twice", "[engine]") {
  EngineBench bench(with_a_worker_elsewhere());
  bench.join(0, 1).join(1, 1).suggest(0).leave(1).join(1, 1);
  CHECK(bench.engine.free_resources(NodeId{1}) == ResourceAmounts(Resources{.cpu = 1}));
  bench.end(0, EndKind::stopped);
  CHECK(bench.launch(0).incarnation == 2);
  CHECK(bench.engine.free_resources(NodeId{1}) == ResourceAmounts());
}

TEST_CASE("a stop that was decided stands when a worker's node is lost", "[engine]") {
  EngineBench bench(with_a_worker_elsewhere());
  bench.join(0, 1).join(1, 1).suggest(0).report(0, 1);
  bench.handle(StopRequested{"enough"}).leave(1);
  CHECK(bench.given<Stop>().empty());  // it has been told
  bench.end(0, EndKind::stopped);
  CHECK(bench.state(0).state == TrialState::terminated);
}

TEST_CASE("labels of nodes and gangs that a function asks for are replayed", "[engine]") {
  EngineOptions options = minimise_loss();
  options.resources.of = [](const Config& config) {
    return Resources{.labels = {{"zone", config["x"].get<int>() == 0 ? "b" : "a"}},
                     .workers = {{.cpu = 0.5}}};
  };
  EngineBench bench(options);
  for (std::uint64_t node = 0; node < 2; ++node) {
    bench.handle(NodeJoined{NodeId{node},
                            "n",
                            ResourceAmounts(Resources{.cpu = 2}),
                            {{"zone", node == 0 ? "a" : "b"}}});
  }
  bench.suggest(0).suggest(1);
  CHECK(bench.launch(0).node == NodeId{1});
  CHECK(bench.launch(1).node == NodeId{0});

  options.resources.of = [](const Config&) -> Resources { throw std::logic_error("not again"); };
  EngineBench other(options);
  other.replay(bench, {}, /*asks_scheduler=*/false);
  CHECK(other.launch(0).node == NodeId{1});
  CHECK(other.launch(1).workers.size() == 1);
  for (const auto& [event, time, decisions] : bench.history) {
    const Event read = event_of(record_of(event), options);
    CHECK(record_of(read).body == record_of(event).body);
    CHECK(to_json(decisions_of(to_json(decisions))) == to_json(decisions));
  }
}

TEST_CASE("a scheduler gives workers and labels, and takes them", "[engine]") {
  EngineOptions options = minimise_loss();
  options.max_trials = 1;
  EngineBench bench(options);
  bench.scheduler.result = [](SchedulerContext& context, const Trial& trial, const Result& result) {
    const Resources gang{.labels = {{"zone", "b"}}, .workers = {{}}};
    context.set_resources(trial.id(), result.training_iteration == 1 ? gang : Resources{});
    return Decision::proceed;
  };
  bench.handle(NodeJoined{NodeId{0}, "a", ResourceAmounts(Resources{.cpu = 1})});
  bench.handle(NodeJoined{NodeId{1}, "b", ResourceAmounts(Resources{.cpu = 2}), {{"zone", "b"}}});
  bench.suggest(0);
  CHECK(bench.launch(0).node == NodeId{0});
  bench.report(0, 1).store(0, 1).end(0, EndKind::paused);
  CHECK(bench.launch(0).node == NodeId{1});
  CHECK(bench.launch(0).workers.size() == 1);
  bench.report(0, 2).store(0, 2).end(0, EndKind::paused);
  CHECK(bench.launch(0).node == NodeId{0});
  CHECK(bench.launch(0).workers.empty());
}

// --- nodes that are never big enough

EngineOptions open_cluster() {
  EngineOptions options = minimise_loss();
  options.fixed_cluster = false;
  options.infeasible_timeout = Time(60);
  options.max_trials = 2;
  return options;
}

void fire(EngineBench& bench, const SetTimer& timer) {
  bench.now = timer.at;
  bench.handle(TimerFired{timer.timer});
}

TEST_CASE("a trial fails once it has waited infeasible_timeout for a node", "[engine][RS-01]") {
  EngineOptions options = open_cluster();
  options.resources.of = [](const Config& config) {
    return Resources{.labels = {{"zone", config["x"].get<int>() == 0 ? "c" : "a"}}};
  };
  EngineBench bench(options);
  bench.handle(NodeJoined{NodeId{0}, "n", ResourceAmounts(Resources{.cpu = 1}), {{"zone", "a"}}});
  bench.now = Time(5);
  bench.suggest(0);
  REQUIRE(bench.given<SetTimer>().size() == 1);
  const SetTimer timer = bench.given<SetTimer>()[0];
  CHECK(timer.at == Time(65));
  CHECK_THAT(bench.engine.waiting_reason(), Contains("zone=c"));
  fire(bench, timer);
  CHECK(bench.state(0).state == TrialState::error);
  CHECK(bench.state(0).error ==
        "no node that is big enough joined within 60 s (infeasible_timeout): no node has label "
        "zone=c");
  bench.suggest(1);  // the others go on
  CHECK(bench.launch(1).node == NodeId{0});
}

TEST_CASE("a trial whose node came in time does not fail", "[engine][RS-01]") {
  EngineOptions options = open_cluster();
  options.resources.of = [](const Config&) { return Resources{.cpu = 4}; };
  EngineBench bench(options);
  bench.join(0, 1).suggest(0);
  const SetTimer timer = bench.given<SetTimer>().at(0);
  bench.now = Time(30);
  bench.join(1, 4);
  CHECK(bench.launch(0).node == NodeId{1});
  fire(bench, timer);
  CHECK(bench.engine.counts().running == 1);
  // It waits anew where that node is lost: an old timer does not count.
  bench.leave(1);
  REQUIRE(bench.given<SetTimer>().size() == 1);
  const SetTimer second = bench.given<SetTimer>()[0];
  CHECK(second.at == timer.at + Time(60));
  fire(bench, second);
  CHECK(bench.state(0).state == TrialState::error);
}

TEST_CASE("an experiment whose trials fit no node ends after infeasible_timeout, and may go on",
          "[engine][RS-01]") {
  EngineOptions options = open_cluster();
  options.resources = {.cpu = 4};
  EngineBench bench(options);
  bench.join(0, 1);
  const std::vector<SetTimer> timers = bench.given<SetTimer>();
  REQUIRE(timers.size() == 1);
  fire(bench, timers[0]);
  REQUIRE(bench.given<Finish>().size() == 1);
  CHECK(bench.given<Finish>()[0].end.interrupted);
  CHECK(bench.given<Finish>()[0].end.error ==
        "no node that is big enough joined within 60 s (infeasible_timeout): requested 4 cpu, "
        "largest node 1 cpu");
  bench.begin(options).join(0, 4).suggest(0);
  CHECK(bench.launch(0).node == NodeId{0});
}

TEST_CASE("a big enough node in time keeps the experiment", "[engine][RS-01]") {
  EngineOptions options = open_cluster();
  options.resources = {.cpu = 4};
  EngineBench bench(options);
  bench.join(0, 1);
  const SetTimer timer = bench.given<SetTimer>().at(0);
  bench.now = Time(59);
  bench.join(1, 4).suggest(0);
  fire(bench, timer);
  CHECK_FALSE(bench.engine.is_finished());
  CHECK(bench.engine.counts().running == 1);
}

TEST_CASE("without a bound there is no timer", "[engine]") {
  EngineOptions options = open_cluster();
  options.infeasible_timeout = Time(std::numeric_limits<double>::infinity());
  options.resources = {.cpu = 4};
  EngineBench bench(options);
  CHECK(bench.join(0, 1).given<SetTimer>().empty());
}

}  // namespace
}  // namespace tune::engine
