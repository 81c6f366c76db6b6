#include "engine/horizon.hpp"

#include <cmath>

#include <catch2/catch.hpp>

#include "engine_bench.hpp"

#include "support/limits.hpp"

namespace tune::engine {
namespace {

Result result_at(std::int64_t iteration, Metrics metrics = {}) {
  Result result;
  result.training_iteration = iteration;
  result.metrics = std::move(metrics);
  return result;
}

TEST_CASE("an empty horizon is never reached", "[horizon]") {
  CHECK_FALSE(Horizon{}.is_reached(result_at(1'000'000, {{"loss", 0.0}})));
}

TEST_CASE("a horizon at every result is reached beyond what was decided", "[horizon]") {
  const Horizon horizon{.every_result = true, .bounds = {}, .decided_until = 3};
  CHECK_FALSE(horizon.is_reached(result_at(3)));
  CHECK(horizon.is_reached(result_at(4)));
}

TEST_CASE("a bound is reached at its value, from the side it says", "[horizon]") {
  const Horizon horizon{.bounds = {{"accuracy", 0.9, false}, {"loss", 0.1, true}}};
  CHECK_FALSE(horizon.is_reached(result_at(1, {{"accuracy", 0.89}, {"loss", 0.11}})));
  CHECK(horizon.is_reached(result_at(1, {{"accuracy", 0.9}})));
  CHECK(horizon.is_reached(result_at(1, {{"loss", 0.1}})));
  CHECK(horizon.is_reached(result_at(1, {{"loss", -1.0}})));
  // Automatic fields are fields too; what is absent, text or not finite reaches nothing.
  CHECK(Horizon{.bounds = {{"training_iteration", 5, false}}}.is_reached(result_at(7)));
  CHECK_FALSE(horizon.is_reached(result_at(1, {{"accuracy", "0.95"}})));
  CHECK_FALSE(horizon.is_reached(result_at(1, {{"loss", std::nan("")}})));
  CHECK_FALSE(horizon.is_reached(result_at(1, {{"accuracy", test::inf}, {"loss", -test::inf}})));
}

TEST_CASE("a bound below what was decided is reached by the first result beyond", "[horizon]") {
  const Horizon horizon{.bounds = {{"training_iteration", 2, false}}, .decided_until = 4};
  CHECK_FALSE(horizon.is_reached(result_at(4)));
  CHECK(horizon.is_reached(result_at(5)));
}

TEST_CASE("a bound that ends a trial does so beyond what was decided, and no other does",
          "[horizon]") {
  const Horizon horizon{
      .bounds = {{"training_iteration", 2, false}, {"loss", 0.5, true, /*ends=*/true}},
      .decided_until = 3};
  CHECK_FALSE(horizon.is_end(result_at(3, {{"loss", 0.1}})));
  CHECK_FALSE(horizon.is_end(result_at(4, {{"loss", 0.6}})));
  CHECK(horizon.is_end(result_at(4, {{"loss", 0.5}})));
}

// What the engine puts into it.

EngineBench running(EngineOptions options, std::unique_ptr<PuppetScheduler> puppet = nullptr) {
  EngineBench bench(std::move(options), std::move(puppet));
  bench.join().suggest(0);
  return bench;
}

std::unique_ptr<PuppetScheduler> promising(double time) {
  auto puppet = std::make_unique<PuppetScheduler>();
  puppet->added = [time](SchedulerContext& context, const Trial& trial) {
    context.no_decision_before(trial.id(), time);
  };
  return puppet;
}

TEST_CASE("a scheduler that promises nothing decides at each result", "[horizon]") {
  CHECK(running({}).launch(0).horizon.every_result);
}

TEST_CASE("a promise for ever and no criterion let a trial run through", "[horizon]") {
  EngineBench bench(EngineOptions{}, promising(test::inf));
  bench.join().suggest(0);
  CHECK(bench.launch(0).horizon == Horizon{});
  CHECK(bench.report(0, 1).given<Proceed>().empty());
}

TEST_CASE("a promise until minus infinity is none: the next result is decided", "[horizon]") {
  EngineBench bench(EngineOptions{}, promising(-test::inf));
  bench.join().suggest(0);
  CHECK(bench.launch(0).horizon.is_reached(result_at(1)));
  CHECK(bench.report(0, 1).given<Proceed>().size() == 1);
  CHECK(bench.report(0, 2).given<Proceed>().size() == 1);
}

TEST_CASE("a promise that is NaN is a fault of the scheduler", "[horizon]") {
  EngineBench bench(EngineOptions{}, promising(std::nan("")));
  bench.join().suggest(0);
  REQUIRE(bench.engine.is_finished());
  CHECK_THAT(bench.ever<Finish>().at(0).end.error, Catch::Contains("no_decision_before"));
}

TEST_CASE("the horizon is the minimum over scheduler and stop criteria", "[horizon]") {
  EngineOptions options;
  options.stop = StopCriteria{{"training_iteration", 9}} | below("loss", 0.5);
  EngineBench bench(options, promising(4));
  bench.join().suggest(0);
  const Horizon horizon = bench.launch(0).horizon;
  CHECK_FALSE(horizon.every_result);
  CHECK_FALSE(horizon.is_reached(result_at(3, {{"loss", 0.6}})));
  CHECK(horizon.is_reached(result_at(4, {{"loss", 0.6}})));
  CHECK(horizon.is_reached(result_at(2, {{"loss", 0.5}})));
  CHECK(horizon.is_reached(result_at(9)));
}

TEST_CASE("a stop criterion ends a trial, and a scheduler's milestone does not", "[horizon]") {
  EngineOptions options;
  options.stop = {{"training_iteration", 9}};
  EngineBench bench(options, promising(4));
  bench.join().suggest(0);
  const Horizon horizon = bench.launch(0).horizon;
  CHECK_FALSE(horizon.is_end(result_at(4)));
  CHECK(horizon.is_end(result_at(9)));
}

TEST_CASE("a function that stops is asked at each result", "[horizon]") {
  EngineOptions options;
  options.stop = stop_when([](const Trial&, const Result&) { return false; }) |
                 StopCriteria{{"training_iteration", 9}};
  EngineBench bench(options, promising(test::inf));
  bench.join().suggest(0);
  CHECK(bench.launch(0).horizon.every_result);
  CHECK_FALSE(bench.launch(0).horizon.is_end(result_at(9)));  // it may throw, say
}

TEST_CASE("under strict_metric a trial waits after a first result without the metric alone",
          "[horizon]") {
  EngineBench bench(minimise_loss(), promising(test::inf));
  bench.join().suggest(0);
  const Horizon horizon = bench.launch(0).horizon;
  CHECK(horizon.is_reached(result_at(1)));
  CHECK(horizon.is_reached(result_at(1, {{"loss", "low"}})));
  CHECK_FALSE(horizon.is_reached(result_at(1, {{"loss", std::nan("")}})));
  CHECK_FALSE(horizon.is_reached(result_at(2)));
  CHECK(bench.report(0, 1).given<Proceed>().empty());
}

TEST_CASE("under strict_metric the first result needs the scheduler's time_attr too", "[horizon]") {
  auto puppet = promising(test::inf);
  puppet->own_time_attr = "samples";
  EngineBench bench(minimise_loss(), std::move(puppet));
  bench.join().suggest(0);
  CHECK(bench.launch(0).horizon.is_reached(result_at(1, {{"loss", 1.0}})));
  CHECK_FALSE(bench.launch(0).horizon.is_reached(result_at(1, {{"loss", 1.0}, {"samples", 1.0}})));
}

TEST_CASE("a scheduler's promise counts in its own time_attr", "[horizon]") {
  auto puppet = promising(100);
  puppet->own_time_attr = "samples";
  EngineOptions options;
  options.strict_metric = false;
  EngineBench bench(options, std::move(puppet));
  bench.join().suggest(0);
  CHECK_FALSE(bench.launch(0).horizon.is_reached(result_at(150, {{"samples", 99}})));
  CHECK(bench.launch(0).horizon.is_reached(result_at(2, {{"samples", 100}})));
}

TEST_CASE("an earlier decision reaches a trial that runs on", "[horizon]") {
  auto puppet = promising(test::inf);
  puppet->result = [](SchedulerContext& context, const Trial& trial, const Result&) {
    if (trial.id() == TrialId{1}) context.no_decision_before(TrialId{0}, 5);
    return Decision::proceed;
  };
  EngineBench bench(EngineOptions{}, std::move(puppet));
  bench.join(0, 2).suggest(0).suggest(1);
  bench.report(1, 1);
  REQUIRE(bench.given<Proceed>().size() == 1);
  const Proceed proceed = bench.given<Proceed>().front();
  CHECK(proceed.trial == TrialId{0});
  CHECK_FALSE(proceed.horizon.is_reached(result_at(4)));
  CHECK(proceed.horizon.is_reached(result_at(5)));
}

TEST_CASE("results inside a horizon are told and nobody is kept waiting", "[horizon]") {
  EngineBench bench(EngineOptions{}, promising(3));
  bench.join().suggest(0);
  CHECK(bench.report(0, 1).given<Proceed>().empty());
  CHECK(bench.report(0, 2).given<Proceed>().empty());
  CHECK(bench.report(0, 3).given<Proceed>().size() == 1);
  CHECK(bench.scheduler.told.size() == 3);
}

}  // namespace
}  // namespace tune::engine
