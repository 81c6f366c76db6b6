// What the scheduler is told of the experiment beside its trials.

#include <optional>
#include <set>

#include <catch2/catch.hpp>

#include "engine_bench.hpp"

namespace tune::engine {
namespace {

TEST_CASE("the context knows whether another trial may be asked for", "[engine]") {
  EngineOptions options = minimise_loss();
  options.max_trials = 2;
  EngineBench bench(options);
  std::optional<bool> may_add;
  bench.scheduler.added = [&](SchedulerContext& context, const Trial&) {
    may_add = context.new_trials() != NewTrials::none;
  };
  bench.join(0, 4).suggest(0);
  CHECK(may_add == true);  // trial 1 is not even asked for
  bench.suggest(1);
  CHECK(may_add == false);
}

TEST_CASE("a searcher that is exhausted adds no trial", "[engine]") {
  EngineBench bench(minimise_loss());
  std::optional<bool> may_add;
  bench.scheduler.result = [&](SchedulerContext& context, const Trial&, const Result&) {
    may_add = context.new_trials() != NewTrials::none;
    return Decision::proceed;
  };
  bench.join(0, 4).suggest(0).report(0, 1);
  CHECK(may_add == true);
  bench.exhaust(1).report(0, 2);
  CHECK(may_add == false);
  // Another time it is asked again. The trial begins from nothing; only what is new is told.
  bench.begin(minimise_loss()).join(1, 4).report(0, 1).report(0, 2).report(0, 3);
  CHECK(may_add == true);
}

TEST_CASE("the context knows nodes, running trials and what they were given", "[engine]") {
  EngineBench bench(minimise_loss());
  const SchedulerContext& context = bench.engine.context();
  CHECK(context.nodes().empty());
  bench.join(0, 1).join(1, 3).suggest(0);
  REQUIRE(context.nodes().size() == 2);
  CHECK(context.nodes().at(NodeId{1}) == ResourceAmounts(Resources{.cpu = 3}));
  CHECK(context.running_trials() == std::set<TrialId>{TrialId{0}});
  CHECK(context.find(TrialId{0})->granted() == ResourceAmounts(Resources{.cpu = 1}));
  bench.leave(1);
  CHECK(context.nodes().size() == 1);
  bench.end(0, EndKind::abandoned);
  CHECK(context.nodes().at(NodeId{0}).amounts().empty());  // its core is lost
  CHECK(context.running_trials().empty());
}

}  // namespace
}  // namespace tune::engine
