#include <stdexcept>
#include <utility>

#include <catch2/catch.hpp>

#include "engine_bench.hpp"

namespace tune::engine {
namespace {

/// Every trial is stopped after its first result.
std::unique_ptr<PuppetScheduler> stopping() {
  auto puppet = std::make_unique<PuppetScheduler>();
  puppet->result = [](SchedulerContext&, const Trial&, const Result&) { return Decision::stop; };
  return puppet;
}

ExperimentEnd end_of(const EngineBench& bench) {
  REQUIRE(bench.engine.is_finished());
  return bench.ever<Finish>().at(0).end;
}

TEST_CASE("when the last slot is lost the experiment ends and says so", "[engine]") {
  EngineBench bench(minimise_loss(), stopping());
  bench.join(0, 1).suggest(0).report(0, 1).end(0, EndKind::abandoned, "step outlived 30 s");
  CHECK(bench.given<AskSearcher>().empty());
  CHECK(end_of(bench).reason == "no slot is left: 1 was lost to a trial that did not end");
  CHECK(end_of(bench).error.empty());
  CHECK(end_of(bench).failed_trials == 1);
}

TEST_CASE("slots are lost one by one, devices too", "[engine]") {
  EngineOptions options = minimise_loss();
  options.resources = {.cpu = 0.1, .gpu = 0.6};  // one a device
  EngineBench bench(options, stopping());
  bench.handle(NodeJoined{NodeId{0}, "node0", ResourceAmounts(Resources{.cpu = 2, .gpu = 2})});
  bench.suggest(0).suggest(1).report(0, 1).report(1, 1);
  bench.end(0, EndKind::abandoned, "step outlived 30 s");
  CHECK_FALSE(bench.engine.is_finished());
  bench.end(1, EndKind::abandoned, "step outlived 30 s");
  CHECK(end_of(bench).reason == "no slot is left: 2 were lost to trials that did not end");
}

TEST_CASE("a trial that waits when the last slot is lost stays unfinished", "[engine]") {
  EngineBench bench(minimise_loss());
  bench.scheduler.result = [](SchedulerContext& context, const Trial& trial, const Result&) {
    if (trial.id() == TrialId{0}) return Decision::pause;
    context.unpause(TrialId{0});
    return Decision::stop;
  };
  bench.join(0, 1).suggest(0).report(0, 1).store(0, 1).end(0, EndKind::paused).suggest(1);
  bench.report(1, 1).end(1, EndKind::abandoned, "step outlived 30 s");
  CHECK(end_of(bench).reason == "no slot is left: 1 was lost to a trial that did not end");
  CHECK(end_of(bench).unfinished_trials == 1);
  CHECK(bench.state(0).state == TrialState::pending);
}

TEST_CASE("a question that is on its way when the last slot is lost is answered first",
          "[engine]") {
  EngineBench bench(minimise_loss(), stopping());
  bench.join(0, 2).suggest(0).report(0, 1).end(0, EndKind::abandoned, "deaf");
  bench.suggest(1).report(1, 1).end(1, EndKind::abandoned, "deaf");
  CHECK(bench.ever<AskSearcher>().size() == 2);
  CHECK(end_of(bench).unfinished_trials == 0);
}

TEST_CASE("with what is left after a loss the search goes on", "[engine]") {
  EngineBench bench(minimise_loss(), stopping());
  bench.join(0, 2).suggest(0).suggest(1).report(0, 1).end(0, EndKind::abandoned, "deaf");
  CHECK(bench.given<AskSearcher>().empty());
  CHECK(bench.report(1, 1).end(1, EndKind::stopped).given<AskSearcher>().size() == 1);
}

TEST_CASE("a search that has ended by itself does not end for its lost slots", "[engine]") {
  EngineOptions options = minimise_loss();
  options.max_trials = 1;
  EngineBench bench(options, stopping());
  bench.join(0, 1).suggest(0).report(0, 1).end(0, EndKind::abandoned, "deaf");
  CHECK(end_of(bench).reason == "all trials ended");
}

TEST_CASE("requests that are refused, whatever the reason, end a search without an end",
          "[engine]") {
  using Of = std::function<Resources(const Config&)>;
  for (const Of& of :
       {Of([](const Config&) { return Resources{.cpu = 11}; }),
        Of([](const Config&) -> Resources { throw std::runtime_error("no key"); })}) {
    EngineOptions options = minimise_loss();
    options.max_infeasible = 3;
    options.resources.of = of;
    EngineBench bench(options);
    bench.join(0, 4);
    for (std::uint64_t i = 0; i < 3; ++i) {
      REQUIRE_FALSE(bench.engine.is_finished());
      bench.suggest(i);
      CHECK(bench.state(i).state == TrialState::error);
    }
    CHECK(end_of(bench).reason == "too many refused requests");
    CHECK_THAT(end_of(bench).error, Catch::StartsWith("3 trials were refused their resources"));
  }
}

}  // namespace
}  // namespace tune::engine
