#include <algorithm>
#include <stdexcept>

#include <catch2/catch.hpp>

#include "engine_bench.hpp"

namespace tune::engine {
namespace {

const ExperimentEnd& the_end(const EngineBench& bench) {
  static ExperimentEnd end;
  const std::vector<Finish> all = bench.ever<Finish>();
  REQUIRE(all.size() == 1);
  end = all.front().end;
  CHECK(bench.engine.is_finished());
  return end;
}

TEST_CASE("the experiment ends when the searcher is exhausted and all trials have ended",
          "[engine]") {
  EngineBench bench(minimise_loss());
  bench.join(0, 2).suggest(0).exhaust(1);
  CHECK_FALSE(bench.engine.is_finished());
  bench.end(0, EndKind::finished, "");
  // It had no result, which strict_metric does not let pass.
  CHECK(the_end(bench).failed_trials == 1);
  CHECK(the_end(bench).reason == "search space exhausted");
  CHECK(bench.join(1).commands.empty());
}

TEST_CASE("max_trials bounds the total", "[engine]") {
  EngineOptions options = minimise_loss();
  options.max_trials = 2;
  EngineBench bench(options);
  bench.join(0, 4).suggest(0).suggest(1);
  CHECK(bench.given<AskSearcher>().empty());
  bench.report(0, 1).report(1, 1).end(0, EndKind::finished).end(1, EndKind::finished);
  CHECK(the_end(bench).terminated_trials == 2);
  CHECK(the_end(bench).reason == "all trials ended");
}

TEST_CASE("a request to stop stops what runs and leaves what waits unfinished", "[engine]") {
  EngineOptions options = minimise_loss();
  options.max_failures = 1;
  EngineBench bench(options);
  bench.join(0, 2).suggest(0).suggest(1);
  bench.report(0, 1).handle(StopRequested{"by hand"});
  CHECK(bench.given<Stop>().size() == 2);
  bench.end(0, EndKind::stopped, "");
  CHECK(bench.given<Launch>().empty());
  bench.end(1, EndKind::failed);
  CHECK(bench.given<Launch>().empty());
  CHECK(the_end(bench).reason == "by hand");
  CHECK(the_end(bench).error.empty());
}

TEST_CASE("a stop saves where checkpoints at the end are asked for", "[engine]") {
  EngineOptions options = minimise_loss();
  options.checkpoint.at_end = true;
  EngineBench bench(options);
  bench.join().suggest(0).report(0, 1).handle(StopRequested{"by hand"});
  REQUIRE(bench.given<Stop>().size() == 1);
  CHECK(bench.given<Stop>().at(0).save);
  bench.store(0, 1);
  CHECK(bench.given<RecordCheckpoint>().size() == 1);
}

TEST_CASE("a time budget ends the experiment by a timer", "[engine]") {
  EngineOptions options = minimise_loss();
  options.time_budget = Time(60);
  EngineBench bench(options);
  bench.now = Time(5);
  bench.join();
  REQUIRE(bench.given<SetTimer>().size() == 1);
  CHECK(bench.given<SetTimer>().at(0).at == Time(65));
  bench.suggest(0).report(0, 1);
  bench.now = Time(65);
  bench.handle(TimerFired{bench.ever<SetTimer>().at(0).timer});
  CHECK(bench.given<Stop>().size() == 1);
  bench.end(0, EndKind::stopped, "");
  CHECK(the_end(bench).reason == "time budget of 60 s used up");
  CHECK(bench.state(0).reason == "time budget of 60 s used up");
}

TEST_CASE("an invalid configuration is not retried, and the searcher learns of it", "[FA-06]") {
  EngineOptions options = minimise_loss();
  options.max_failures = 3;
  options.max_infeasible = 2;
  EngineBench bench(options);
  bench.join().suggest(0).end(0, EndKind::invalid, "x < 0.5");
  CHECK(bench.state(0).state == TrialState::error);
  CHECK(bench.state(0).error == "x < 0.5");
  REQUIRE(bench.given<TellSearcherFailed>().size() == 1);
  CHECK(bench.given<TellSearcherFailed>().at(0).infeasible);
  CHECK(bench.engine.counts().infeasible == 1);
  CHECK_FALSE(bench.engine.is_finished());
  bench.suggest(1).end(1, EndKind::invalid, "x < 0.5");
  CHECK(the_end(bench).reason == "too many invalid configurations");
  CHECK_THAT(the_end(bench).error, Catch::Contains("x < 0.5"));
}

TEST_CASE("a scheduler that throws ends the experiment and is called no more", "[engine]") {
  EngineBench bench(minimise_loss());
  bench.scheduler.result = [](SchedulerContext&, const Trial&, const Result&) -> Decision {
    throw std::runtime_error("division by zero");
  };
  bench.join(0, 2).suggest(0).suggest(1).report(0, 1);
  CHECK(bench.given<Stop>().size() == 2);
  bench.report(1, 1).end(0, EndKind::stopped).end(1, EndKind::stopped);
  CHECK(bench.scheduler.told.size() == 1);
  CHECK(bench.scheduler.completed.empty());
  CHECK(the_end(bench).reason == "the scheduler failed");
  CHECK_THAT(the_end(bench).error,
             Catch::Contains("puppet") && Catch::Contains("on_trial_result") &&
                 Catch::Contains("trial 0") && Catch::Contains("division by zero"));
}

TEST_CASE("a choice that cannot run is a fault of the scheduler", "[engine]") {
  EngineBench bench(minimise_loss());
  bench.scheduler.choose = [](SchedulerContext&) { return TrialId{7}; };
  bench.join();
  CHECK_THAT(the_end(bench).error, Catch::Contains("chose trial 7"));
}

TEST_CASE("a stop function that throws, whatever it throws, ends the experiment", "[engine]") {
  for (const bool is_exception : {true, false}) {
    EngineOptions options = minimise_loss();
    options.stop = stop_when([=](const Trial&, const Result&) -> bool {
      if (is_exception) throw std::runtime_error("no such key");
      throw 7;
    });
    EngineBench bench(options);
    bench.join().suggest(0);
    REQUIRE_NOTHROW(bench.report(0, 1));
    CHECK(bench.given<RecordResult>().size() == 1);
    bench.end(0, EndKind::stopped);
    CHECK(the_end(bench).reason == "a stop criterion failed");
    CHECK_FALSE(the_end(bench).error.empty());
  }
}

TEST_CASE("the result that ends the experiment ends its trial, and is done", "[engine]") {
  EngineOptions options = minimise_loss();
  options.stop = experiment_plateau({.std = 0.1, .top = 2});
  EngineBench bench(options);
  bench.join(0, 3).suggest(0).suggest(1).suggest(2).report(0, 1).report(2, 1, {{"loss", 9.0}});
  CHECK_FALSE(bench.ever<RecordResult>().back().result.done);
  bench.report(1, 1);
  CHECK(bench.given<Stop>().size() == 3);
  REQUIRE(bench.given<RecordResult>().size() == 1);
  CHECK(bench.given<RecordResult>().at(0).result.done);
  bench.report(0, 2);  // on its way to the end
  CHECK_FALSE(bench.given<RecordResult>().at(0).result.done);
  for (const std::uint64_t trial : {0, 1, 2}) bench.end(trial, EndKind::stopped, "");
  CHECK(the_end(bench).reason == "experiment plateau");
  CHECK(bench.state(1).state == TrialState::terminated);
}

TEST_CASE("a function of resources that throws, whatever it throws, fails its trial", "[engine]") {
  for (const bool is_exception : {true, false}) {
    EngineOptions options = minimise_loss();
    options.resources.of = [=](const Config& config) -> Resources {
      if (config["x"].get<int>() != 0) return {.cpu = 1};
      if (is_exception) throw std::runtime_error("no such key");
      throw 7;
    };
    EngineBench bench(options);
    bench.join();
    REQUIRE_NOTHROW(bench.suggest(0));
    CHECK(bench.state(0).state == TrialState::error);
    CHECK(bench.suggest(1).given<Launch>().size() == 1);
  }
}

TEST_CASE("a trial that asks for nothing fails unless max_concurrent bounds such trials",
          "[engine]") {
  for (const std::int64_t max_concurrent : {0, 3}) {
    EngineOptions options = minimise_loss();
    options.max_concurrent = max_concurrent;
    options.resources.of = [](const Config& config) {
      return Resources{.cpu = config["x"].get<int>() == 0 ? 0.0 : 1.0};
    };
    EngineBench bench(options);
    bench.scheduler.added = [](SchedulerContext& context, const Trial& trial) {
      if (trial.id() == TrialId{1}) context.set_resources(trial.id(), {.cpu = 0});
    };
    bench.join(0, 2).suggest(0).suggest(1);
    for (const std::uint64_t trial : {0, 1}) {
      if (max_concurrent > 0) {
        CHECK(bench.launch(trial).grant.amounts.amounts().empty());
        continue;
      }
      CHECK(bench.state(trial).state == TrialState::error);
      CHECK(bench.state(trial).error ==
            "resources: a trial that asks for nothing needs max_concurrent to be set");
    }
  }
}

TEST_CASE("a searcher that fails ends the experiment", "[engine]") {
  EngineBench bench(minimise_loss());
  bench.join().handle(SuggestionReady{TrialId{0}, SearcherFailure{"singular matrix"}});
  CHECK(the_end(bench).reason == "the searcher failed");
  CHECK_THAT(the_end(bench).error, Catch::Contains("singular matrix"));
}

TEST_CASE("a trial that nobody wakes ends with a reason", "[engine]") {
  EngineBench bench(minimise_loss());
  bench.scheduler.result = [](SchedulerContext&, const Trial&, const Result&) {
    return Decision::pause;
  };
  bench.join().suggest(0).report(0, 1).store(0, 1).end(0, EndKind::paused).exhaust(1);
  CHECK(bench.state(0).state == TrialState::terminated);
  CHECK(bench.state(0).reason == "left paused by the scheduler");
  CHECK(the_end(bench).terminated_trials == 1);
}

TEST_CASE("a scheduler is told whether more trials can come", "[engine]") {
  EngineOptions options = minimise_loss();
  options.max_trials = 2;
  options.searcher_wants_results = true;
  EngineBench bench(options);
  std::vector<NewTrials> told;
  bench.scheduler.choose = [&](SchedulerContext& context) -> std::optional<TrialId> {
    told.push_back(context.new_trials());
    if (context.pending_trials().empty()) return std::nullopt;
    return *context.pending_trials().begin();
  };
  bench.scheduler.result = [](SchedulerContext&, const Trial&, const Result&) {
    return Decision::pause;
  };
  bench.join(0, 2).suggest(0);
  CHECK(told.back() == NewTrials::possible);
  bench.handle(SuggestionReady{TrialId{1}, Wait{}});
  told.clear();
  bench.join(1, 1);  // trial 0 runs and the searcher waits: nobody can be started
  CHECK(told.empty());
  bench.report(0, 1);  // news for the searcher
  bench.handle(SuggestionReady{TrialId{1}, Wait{}}).store(0, 1).end(0, EndKind::paused);
  REQUIRE_FALSE(told.empty());
  CHECK(told.front() == NewTrials::possible);  // by that news
  CHECK(std::find(told.begin(), told.end(), NewTrials::waiting) != told.end());
}

TEST_CASE("a scheduler is told that no more trials can come", "[engine]") {
  EngineBench bench(minimise_loss());
  NewTrials told = NewTrials::possible;
  bench.scheduler.choose = [&](SchedulerContext& context) -> std::optional<TrialId> {
    told = context.new_trials();
    if (context.pending_trials().empty()) return std::nullopt;
    return *context.pending_trials().begin();
  };
  bench.scheduler.result = [](SchedulerContext&, const Trial&, const Result&) {
    return Decision::pause;
  };
  bench.join().suggest(0).report(0, 1).store(0, 1).end(0, EndKind::paused);
  CHECK(told == NewTrials::possible);  // one was asked for
  bench.exhaust(1);
  CHECK(told == NewTrials::none);
}

TEST_CASE("a paused trial is kept while a new one only waits for a bigger node", "[engine]") {
  EngineOptions options = minimise_loss();
  options.resources = {.cpu = 2};
  options.fixed_cluster = false;
  EngineBench bench(options);
  bench.scheduler.result = [](SchedulerContext&, const Trial&, const Result&) {
    return Decision::pause;
  };
  bench.join(0, 2).suggest(0).report(0, 1).store(0, 1);
  bench.join(1, 1).leave(0);
  CHECK_FALSE(bench.engine.is_finished());
  CHECK(bench.state(0).state == TrialState::paused);
  CHECK_THAT(bench.engine.waiting_reason(), Catch::Contains("no node is big enough"));
}

TEST_CASE("a thread that does not end is an error and takes its slot with it", "[engine]") {
  EngineBench bench(minimise_loss());
  bench.scheduler.result = [](SchedulerContext&, const Trial&, const Result&) {
    return Decision::stop;
  };
  bench.join(0, 2).suggest(0).report(0, 1).end(0, EndKind::abandoned, "step outlived 30 s");
  CHECK(bench.state(0).state == TrialState::error);
  CHECK(bench.state(0).error == "step outlived 30 s");
  CHECK(bench.engine.free_resources(NodeId{0})->amount("cpu") == 1000);
}

TEST_CASE("options that cannot work are refused", "[engine]") {
  EngineOptions options = minimise_loss();
  options.checkpoint.keep = 0;
  CHECK_THROWS_WITH(EngineBench(options), Catch::Contains("keep") && Catch::Contains("0"));

  auto pausing = std::make_unique<PuppetScheduler>();
  pausing->own_needs_checkpoints = true;
  options = minimise_loss();
  options.trainable_checkpoints = false;
  CHECK_THROWS_WITH(EngineBench(options, std::move(pausing)),
                    Catch::Contains("puppet") && Catch::Contains("checkpoints"));

  auto comparing = std::make_unique<PuppetScheduler>();
  comparing->own_needs_metric = true;
  CHECK_THROWS_WITH(EngineBench(EngineOptions{}, std::move(comparing)),
                    Catch::Contains("puppet") && Catch::Contains("metric"));

  options = minimise_loss();
  options.resources = {.cpu = 0};
  CHECK_THROWS_WITH(EngineBench(options), Catch::Contains("max_concurrent"));
}

TEST_CASE("a scheduler need not have a text as its name", "[engine]") {
  for (const Json& options : {Json{{"name", 7}}, Json{{"name", nullptr}}, Json(7)}) {
    auto puppet = std::make_unique<PuppetScheduler>();
    puppet->own_options = options;
    puppet->result = [](SchedulerContext&, const Trial&, const Result&) { return Decision::stop; };
    EngineBench bench(minimise_loss(), std::move(puppet));
    bench.join().suggest(0).report(0, 1).end(0, EndKind::stopped, "");
    CHECK(bench.state(0).reason == "stopped by scheduler");
  }
}

}  // namespace
}  // namespace tune::engine
