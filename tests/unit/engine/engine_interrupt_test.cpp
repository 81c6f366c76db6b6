#include <catch2/catch.hpp>

#include "engine_bench.hpp"

namespace tune::engine {
namespace {

const Event interrupt = StopRequested{.reason = "Ctrl-C", .interrupts = true};

EngineOptions with_three_retries() {
  EngineOptions options = minimise_loss();
  options.max_failures = 3;
  options.retry_pause = Time(2);
  return options;
}

ExperimentEnd end_of_interrupted(const EngineBench& bench) {
  const std::vector<Finish> all = bench.ever<Finish>();
  REQUIRE(all.size() == 1);
  CHECK(bench.engine.is_finished());
  CHECK(all.front().end.interrupted);
  CHECK(all.front().end.reason == "Ctrl-C");
  return all.front().end;
}

TEST_CASE("FA-09: an interrupt saves what runs and leaves it unfinished", "[FA-09]") {
  EngineBench bench(with_three_retries());
  bench.join(0, 2).suggest(0).suggest(1).report(0, 1).handle(interrupt);
  REQUIRE(bench.given<Stop>().size() == 2);
  CHECK(bench.given<Stop>().at(0).save);
  CHECK_FALSE(bench.engine.is_finished());
  bench.store(0, 1).end(0, EndKind::stopped, "");
  CHECK(bench.state(0).state == TrialState::paused);
  CHECK(bench.state(0).reason == "interrupted: Ctrl-C");
  CHECK(bench.given<Launch>().empty());
  CHECK(bench.given<AskSearcher>().empty());
  bench.end(1, EndKind::stopped, "");  // before there was anything to save
  CHECK(bench.state(1).state == TrialState::pending);
  CHECK(end_of_interrupted(bench).unfinished_trials == 2);
  CHECK(bench.scheduler.completed.empty());
  CHECK(bench.scheduler.failed.empty());
  CHECK(bench.ever<TellSearcherCompleted>().empty());
  CHECK(bench.ever<TellSearcherFailed>().empty());
}

TEST_CASE("an interrupt of a trainable that cannot save asks for no checkpoint", "[engine]") {
  EngineOptions options = with_three_retries();
  options.trainable_checkpoints = false;
  EngineBench bench(options);
  bench.join().suggest(0).report(0, 1).handle(interrupt);
  REQUIRE(bench.given<Stop>().size() == 1);
  CHECK_FALSE(bench.given<Stop>().at(0).save);
  CHECK(bench.end(0, EndKind::stopped, "").state(0).state == TrialState::pending);
  CHECK(end_of_interrupted(bench).unfinished_trials == 1);
}

TEST_CASE("a trial that fails or does not end while it is interrupted is no error", "[FA-10]") {
  for (const EndKind kind : {EndKind::failed, EndKind::abandoned, EndKind::invalid}) {
    EngineOptions options = with_three_retries();
    options.max_failures = 0;
    EngineBench bench(options);
    bench.join().suggest(0).report(0, 1).store(0, 1).report(0, 2).handle(interrupt);
    bench.end(0, kind, "disk full");
    CHECK(bench.state(0).state == TrialState::paused);
    CHECK(bench.given<RecordWarning>().at(0).text == "failed while it was interrupted: disk full");
    CHECK(bench.scheduler.failed.empty());
    CHECK(end_of_interrupted(bench).failed_trials == 0);
  }
}

TEST_CASE("a node that is lost during an interrupt leaves its trials unfinished", "[engine]") {
  EngineBench bench(with_three_retries());
  bench.join(0).suggest(0).report(0, 1).store(0, 1).handle(interrupt).leave(0);
  CHECK(bench.state(0).state == TrialState::paused);
  CHECK(bench.state(0).reason == "interrupted: Ctrl-C");
  CHECK(end_of_interrupted(bench).unfinished_trials == 1);
}

TEST_CASE("an interrupt leaves what waits as it is", "[engine]") {
  EngineBench bench(with_three_retries());
  bench.scheduler.result = [](SchedulerContext&, const Trial& trial, const Result&) {
    return trial.id() == TrialId{0} ? Decision::pause : Decision::proceed;
  };
  bench.join().suggest(0).report(0, 1).store(0, 1).end(0, EndKind::paused, "");
  bench.suggest(1).report(1, 1).end(1, EndKind::failed).exhaust(2);
  const auto timer = bench.ever<SetTimer>().back();
  bench.handle(interrupt);
  CHECK(bench.state(0).state == TrialState::paused);
  CHECK(bench.state(0).reason == "paused by puppet");
  CHECK(bench.state(1).state == TrialState::pending);
  CHECK(end_of_interrupted(bench).unfinished_trials == 2);
  CHECK(bench.handle(TimerFired{timer.timer}).commands.empty());
}

TEST_CASE("a pause that was decided stands in an interrupt, and waits for no writer", "[engine]") {
  EngineBench bench(with_three_retries());
  bench.scheduler.result = [](SchedulerContext&, const Trial&, const Result&) {
    return Decision::pause;
  };
  bench.join().suggest(0).report(0, 1).handle(interrupt);
  CHECK(bench.given<Stop>().size() == 1);
  bench.store(0, 1).end(0, EndKind::stopped, "");
  CHECK(bench.state(0).state == TrialState::paused);
  CHECK(bench.state(0).reason == "paused by puppet");
  CHECK(end_of_interrupted(bench).unfinished_trials == 1);
}

TEST_CASE("an exploit on its way is left by an interrupt", "[engine]") {
  EngineBench bench(with_three_retries());
  bench.scheduler.result = [](SchedulerContext& context, const Trial& trial, const Result&) {
    if (trial.id() == TrialId{1}) context.exploit(TrialId{0}, TrialId{1}, Config(Json{{"x", 7}}));
    return Decision::proceed;
  };
  bench.join(0, 2).suggest(0).suggest(1).report(1, 1).store(1, 1).report(0, 1).report(1, 2);
  CHECK(bench.given<Stop>().size() == 1);
  bench.handle(interrupt);
  CHECK(bench.given<Stop>().size() == 1);  // the other one
  bench.end(0, EndKind::stopped, "");
  CHECK(bench.state(0).state == TrialState::pending);
  CHECK(bench.given<Launch>().empty());
  bench.end(1, EndKind::stopped, "");
  CHECK(end_of_interrupted(bench).unfinished_trials == 2);
}

TEST_CASE("a stop that was decided before an interrupt is an end", "[engine]") {
  EngineBench bench(with_three_retries());
  bench.scheduler.result = [](SchedulerContext&, const Trial&, const Result&) {
    return Decision::stop;
  };
  bench.join().suggest(0).report(0, 1).handle(interrupt);
  CHECK(bench.given<Stop>().empty());  // it was told before
  bench.end(0, EndKind::stopped, "");
  CHECK(bench.state(0).state == TrialState::terminated);
  CHECK(bench.scheduler.completed.size() == 1);
  CHECK(end_of_interrupted(bench).terminated_trials == 1);
}

TEST_CASE("results that come during an interrupt are recorded, told and decided", "[engine]") {
  EngineOptions options = with_three_retries();
  options.stop = {{"training_iteration", 3}};
  EngineBench bench(options);
  bench.join(0, 2).suggest(0).suggest(1).report(0, 1).report(1, 1).handle(interrupt);
  bench.report(0, 2);
  CHECK(bench.given<RecordResult>().size() == 1);
  CHECK(bench.scheduler.told.size() == 3);
  bench.report(0, 3).end(0, EndKind::stopped, "");  // where it ends anyway
  CHECK(bench.state(0).state == TrialState::terminated);
  CHECK(bench.state(0).reason == "stop criterion training_iteration >= 3");
  bench.report(1, 2, {{"loss", 1.0}}, true).end(1, EndKind::finished, "");
  CHECK(bench.state(1).reason == "trainable finished");
  CHECK(end_of_interrupted(bench).terminated_trials == 2);
}

TEST_CASE("a result that would end the experiment ends its own trial in an interrupt", "[engine]") {
  EngineOptions options = with_three_retries();
  options.stop = experiment_plateau({.std = 0.1, .top = 2});
  EngineBench bench(options);
  bench.join(0, 2).suggest(0).suggest(1).report(0, 1).handle(interrupt).report(1, 1);
  bench.end(0, EndKind::stopped, "").end(1, EndKind::stopped, "");
  CHECK(bench.state(0).state == TrialState::pending);
  CHECK(bench.state(1).state == TrialState::terminated);
  CHECK(bench.state(1).reason == "experiment plateau");
  CHECK(end_of_interrupted(bench).unfinished_trials == 1);
}

TEST_CASE("training code that returns without a result in an interrupt is no error", "[engine]") {
  EngineBench bench(with_three_retries());
  bench.join().suggest(0).handle(interrupt).end(0, EndKind::finished, "");
  CHECK(bench.state(0).state == TrialState::pending);
  CHECK(end_of_interrupted(bench).failed_trials == 0);
}

TEST_CASE("an interrupt with nothing running ends at once, and a second one does nothing",
          "[engine]") {
  EngineBench idle(with_three_retries());
  idle.join().handle(interrupt);
  CHECK(end_of_interrupted(idle).unfinished_trials == 0);

  EngineBench bench(with_three_retries());
  bench.join().suggest(0).handle(interrupt);
  CHECK(bench.handle(interrupt).commands.empty());
}

TEST_CASE("the first to end the experiment has the word", "[engine]") {
  EngineBench stopped(with_three_retries());
  stopped.join().suggest(0).report(0, 1).handle(StopRequested{"enough"}).handle(interrupt);
  stopped.end(0, EndKind::stopped, "");
  CHECK(stopped.state(0).state == TrialState::terminated);
  CHECK_FALSE(stopped.ever<Finish>().at(0).end.interrupted);

  EngineBench interrupted(with_three_retries());
  interrupted.join().suggest(0).report(0, 1).handle(interrupt).handle(StopRequested{"enough"});
  interrupted.end(0, EndKind::stopped, "");
  CHECK(interrupted.state(0).state == TrialState::pending);
  CHECK(end_of_interrupted(interrupted).unfinished_trials == 1);
}

}  // namespace
}  // namespace tune::engine
