#include <catch2/catch.hpp>

#include "engine_bench.hpp"

namespace tune::engine {
namespace {

EngineOptions with_retries(std::int64_t max_failures) {
  EngineOptions options = minimise_loss();
  options.max_failures = max_failures;
  options.checkpoint.every = 1;
  return options;
}

std::vector<std::int64_t> iterations(const std::vector<Result>& results) {
  std::vector<std::int64_t> iterations;
  for (const Result& result : results) iterations.push_back(result.training_iteration);
  return iterations;
}

TEST_CASE("nobody is told twice after a retry, and what is new is told", "[engine]") {
  EngineOptions options = with_retries(1);
  options.searcher_wants_results = true;
  EngineBench bench(options);
  bench.join().suggest(0);
  bench.report(0, 1).store(0, 1).report(0, 2).report(0, 3).end(0, EndKind::failed);
  CHECK(bench.launch(0).start_iteration == 1);
  CHECK(bench.launch(0).horizon.decided_until == 3);
  bench.report(0, 2);
  CHECK(bench.given<RecordResult>().size() == 1);
  CHECK(bench.given<RecordResult>().at(0).incarnation == 2);
  CHECK(bench.given<Proceed>().empty());  // it did not wait
  bench.report(0, 3);
  bench.report(0, 4);
  CHECK(bench.given<Proceed>().size() == 1);
  CHECK(iterations(bench.scheduler.told) == std::vector<std::int64_t>{1, 2, 3, 4});
  CHECK(bench.ever<TellSearcherResult>().size() == 4);
}

TEST_CASE("a row that is recorded again keeps its target", "[engine]") {
  EngineBench bench(with_retries(1));
  bench.join().suggest(0).report(0, 1, {{"loss", 0.5}}).end(0, EndKind::failed);
  bench.report(0, 1, {{"loss", 0.5}});
  CHECK(bench.given<RecordResult>().at(0).result.target() == 0.5);
}

TEST_CASE("a stop criterion is not judged again on what was decided", "[engine]") {
  EngineOptions options = with_retries(1);
  options.stop = below("loss", 0.1);
  EngineBench bench(options);
  bench.join().suggest(0).report(0, 1).report(0, 2).end(0, EndKind::failed);
  bench.report(0, 1, {{"loss", 0.0}});  // another value than the first time
  CHECK(bench.given<Stop>().empty());
  bench.report(0, 2).report(0, 3, {{"loss", 0.0}});
  CHECK(bench.given<Stop>().size() == 1);
}

TEST_CASE("a pause that was decided stands though the trial crashes on its way", "[engine]") {
  EngineBench bench(with_retries(1));
  bench.scheduler.result = [](SchedulerContext&, const Trial&, const Result& result) {
    return result.training_iteration == 2 ? Decision::pause : Decision::proceed;
  };
  bench.join().suggest(0).report(0, 1).store(0, 1).report(0, 2).end(0, EndKind::failed);
  CHECK(bench.state(0).state == TrialState::paused);
  CHECK(bench.ever<Launch>().size() == 1);
  bench.scheduler.result = [](SchedulerContext& context, const Trial&, const Result&) {
    context.unpause(TrialId{0});
    return Decision::proceed;
  };
  bench.suggest(1).report(1, 1).end(1, EndKind::finished, "");
  // The net decision on iteration 2 is proceed by now: it goes on from 1 and does not pause again.
  CHECK(bench.launch(0).start_iteration == 1);
  bench.report(0, 2);
  CHECK(bench.given<Pause>().empty());
  CHECK(bench.given<RecordResult>().size() == 1);
}

TEST_CASE("a lost node counts as no failure, and what it still says is refused", "[FA-12]") {
  EngineBench bench(with_retries(0));
  bench.join(0).join(1).suggest(0).report(0, 1).store(0, 1).report(0, 2);
  const std::uint32_t lost = bench.launch(0).incarnation;
  bench.leave(0);
  CHECK(bench.launch(0).node == NodeId{1});
  CHECK(bench.launch(0).start_iteration == 1);
  CHECK(bench.launch(0).incarnation > lost);
  Result late;
  late.training_iteration = 3;
  late.metrics = {{"loss", 0.0}};
  const std::uint64_t refused = bench.engine.counts().refused_messages;
  bench.handle(TrialMessage{TrialId{0}, lost, 4, Reported{late}});
  CHECK(bench.commands.empty());
  CHECK(bench.engine.counts().refused_messages == refused + 1);
}

TEST_CASE("messages out of order wait for those before them; doubles are dropped", "[engine]") {
  EngineBench bench(minimise_loss());
  bench.join().suggest(0);
  const auto message = [](std::uint64_t sequence, std::int64_t iteration) {
    Result result;
    result.training_iteration = iteration;
    result.metrics = {{"loss", 1.0}};
    return TrialMessage{TrialId{0}, 1, sequence, Reported{result}};
  };
  CHECK(bench.handle(message(2, 2)).given<RecordResult>().empty());
  CHECK(bench.handle(message(2, 2)).given<RecordResult>().empty());
  CHECK(bench.engine.counts().refused_messages == 1);
  CHECK(bench.handle(TrialMessage{TrialId{0}, 1, 0, Started{}}).given<RecordResult>().empty());
  CHECK(bench.handle(message(1, 1)).given<RecordResult>().size() == 2);
  CHECK(bench.handle(message(1, 1)).given<RecordResult>().empty());
  CHECK(iterations(bench.scheduler.told) == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("a failure before any checkpoint starts anew", "[engine]") {
  EngineBench bench(with_retries(1));
  bench.join().suggest(0).report(0, 1).end(0, EndKind::failed);
  CHECK(bench.launch(0).incarnation == 2);
  CHECK(bench.launch(0).start_iteration == 0);
  CHECK_FALSE(bench.launch(0).checkpoint);
  CHECK(bench.launch(0).seed == bench.ever<Launch>().front().seed);
  CHECK(bench.state(0).state == TrialState::pending);
  CHECK(bench.state(0).error == "boom");
}

TEST_CASE("the failure limit counts retries", "[FA-03]") {
  for (const std::int64_t limit : {0, 1, 2}) {
    EngineBench bench(with_retries(limit));
    bench.join().suggest(0);
    for (std::int64_t i = 0; i <= limit; ++i) {
      CHECK(bench.state(0).state != TrialState::error);
      bench.end(0, EndKind::failed);
    }
    CHECK(bench.state(0).state == TrialState::error);
    CHECK(bench.state(0).error == "boom");
    CHECK(bench.scheduler.failed == std::vector{TrialId{0}});
    CHECK(static_cast<std::int64_t>(bench.ever<Launch>().size()) == limit + 1);
  }
}

TEST_CASE("checkpoints beyond `keep` are deleted, oldest first", "[engine]") {
  EngineOptions options = minimise_loss();
  options.checkpoint = {.every = 1, .keep = 2};
  EngineBench bench(options);
  bench.join().suggest(0);
  for (int i = 1; i <= 3; ++i) {
    bench.report(0, i).store(0, i);
    CHECK(bench.given<RecordCheckpoint>().size() == 1);
  }
  REQUIRE(bench.ever<DeleteCheckpoint>().size() == 1);
  CHECK(bench.ever<DeleteCheckpoint>().front().checkpoint.directory_name == "checkpoint_000001");
}

TEST_CASE("a save that fails is a warning and ends nothing", "[engine]") {
  EngineBench bench(minimise_loss());
  bench.join().suggest(0).report(0, 1).tell(0, CheckpointFailed{1, "disk full"});
  REQUIRE(bench.given<RecordWarning>().size() == 1);
  CHECK(bench.given<RecordWarning>().front().text == "checkpoint at iteration 1 failed: disk full");
  CHECK(bench.engine.counts().running == 1);
}

TEST_CASE("a directory is named after its iteration", "[engine]") {
  CHECK(checkpoint_directory_name(7) == "checkpoint_000007");
  CHECK(checkpoint_directory_name(1'234'567) == "checkpoint_1234567");
}

}  // namespace
}  // namespace tune::engine
