#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <catch2/catch.hpp>

#include "engine_bench.hpp"

namespace tune::engine {
namespace {

TEST_CASE("a searcher is asked only when a slot is free for the answer", "[engine]") {
  EngineBench bench(minimise_loss());
  bench.join(0, 2);
  CHECK(bench.given<AskSearcher>().size() == 1);
  CHECK(bench.join(1, 1).given<AskSearcher>().empty());  // one question at a time
  CHECK(bench.suggest(0).given<AskSearcher>().size() == 1);
  CHECK(bench.suggest(1).given<AskSearcher>().size() == 1);
  CHECK(bench.suggest(2).given<AskSearcher>().empty());
  CHECK(bench.report(1, 1).given<AskSearcher>().empty());
  bench.end(1, EndKind::finished);
  // It is told of the end before it is asked again, so that it knows all results.
  bool is_told = false;
  for (const Command& command : bench.commands) {
    is_told = is_told || std::holds_alternative<TellSearcherCompleted>(command);
    if (std::holds_alternative<AskSearcher>(command)) CHECK(is_told);
  }
  CHECK(bench.given<AskSearcher>().size() == 1);
}

TEST_CASE("a scheduler is asked only when a slot is free for its choice", "[engine]") {
  auto puppet = std::make_unique<PuppetScheduler>();
  int choices = 0;
  puppet->choose = [&](SchedulerContext& context) -> std::optional<TrialId> {
    ++choices;
    if (context.pending_trials().empty()) return std::nullopt;
    return *context.pending_trials().begin();
  };
  EngineOptions options = minimise_loss();
  options.max_failures = 3;
  EngineBench bench(options, std::move(puppet));
  bench.join(0, 2).suggest(0).suggest(1);
  bench.leave(0).join(1, 1);  // two trials and one slot
  REQUIRE(bench.engine.counts().running == 1);
  const int before = choices;
  for (int iteration = 1; iteration < 5; ++iteration) bench.report(0, iteration);
  CHECK(choices == before);
  bench.end(0, EndKind::finished);
  CHECK(choices == before + 1);  // and then there is no room for another
  CHECK(bench.engine.counts().running == 1);
}

TEST_CASE("max_concurrent bounds running trials", "[engine]") {
  EngineOptions options = minimise_loss();
  options.max_concurrent = 1;
  EngineBench bench(options);
  bench.join(0, 8).suggest(0);
  CHECK(bench.engine.counts().running == 1);
  CHECK(bench.given<AskSearcher>().empty());
  bench.report(0, 1);
  CHECK(bench.end(0, EndKind::finished).given<AskSearcher>().size() == 1);
}

TEST_CASE("after Wait the same trial is asked for when the searcher has learned something",
          "[engine]") {
  EngineOptions options = minimise_loss();
  options.searcher_wants_results = true;
  EngineBench bench(options);
  bench.join(0, 2).suggest(0).handle(SuggestionReady{TrialId{1}, Wait{}});
  CHECK(bench.given<AskSearcher>().empty());
  bench.report(0, 1);
  REQUIRE(bench.given<AskSearcher>().size() == 1);
  CHECK(bench.given<AskSearcher>().at(0).trial == TrialId{1});
}

TEST_CASE("a Wait is outdated by what the searcher was told since it was asked", "[engine]") {
  EngineBench bench(minimise_loss());
  bench.join(0, 2).suggest(0).report(0, 1).end(0, EndKind::finished);
  bench.handle(SuggestionReady{TrialId{1}, Wait{}});  // said before it heard of the end
  REQUIRE(bench.given<AskSearcher>().size() == 1);
  CHECK(bench.given<AskSearcher>().at(0).trial == TrialId{1});
  bench.handle(SuggestionReady{TrialId{1}, Wait{}});  // with nothing left to wait for
  CHECK(bench.engine.is_finished());
  CHECK(bench.ever<Finish>().at(0).end.reason == "the searcher waits for ever");
}

TEST_CASE("a request that no node could hold is refused by name on a fixed cluster", "[RS-01]") {
  EngineOptions options = minimise_loss();
  options.resources = {.cpu = 11};
  EngineBench bench(options);
  bench.join(0, 4).join(1, 8).suggest(0);
  CHECK(bench.state(0).state == TrialState::error);
  CHECK(bench.state(0).error == "requested 11 cpu, largest node 8 cpu");
  CHECK(bench.ever<Launch>().empty());
  CHECK(bench.scheduler.failed == std::vector{TrialId{0}});
}

TEST_CASE("where nodes may join, what fits none waits for one and says so", "[RS-01]") {
  EngineOptions options = minimise_loss();
  options.resources = {.cpu = 11};
  options.fixed_cluster = false;
  EngineBench bench(options);
  bench.join(0, 4);
  CHECK_FALSE(bench.engine.is_finished());
  CHECK_FALSE(bench.engine.waiting_reason().empty());
  CHECK(bench.join(1, 12).given<AskSearcher>().size() == 1);
  CHECK(bench.suggest(0).given<Launch>().at(0).node == NodeId{1});
  CHECK(bench.engine.waiting_reason().empty());
}

TEST_CASE("a trial that lost its node waits for another one as big", "[engine]") {
  EngineOptions options = minimise_loss();
  options.resources = {.cpu = 4};
  options.fixed_cluster = false;
  options.max_trials = 1;
  EngineBench bench(options);
  bench.join(0, 4).join(1, 2).suggest(0).leave(0);
  CHECK(bench.state(0).state == TrialState::pending);
  CHECK(bench.state(0).reason == "node node0 lost");
  CHECK_FALSE(bench.engine.waiting_reason().empty());
  CHECK(bench.join(0, 4).given<Launch>().size() == 1);
}

TEST_CASE("when all nodes are gone the experiment waits, and goes on when one joins", "[engine]") {
  EngineBench bench(minimise_loss());
  bench.join(0, 1).suggest(0).leave(0);
  CHECK_FALSE(bench.engine.is_finished());
  CHECK(bench.engine.waiting_reason() == "no node is there");
  CHECK(bench.join(1, 1).given<Launch>().size() == 1);
}

TEST_CASE("nothing is sent to the trials of a node that is gone", "[engine]") {
  EngineOptions options = minimise_loss();
  options.stop = StopCriteria{{"training_iteration", 1}};
  EngineBench bench(options);
  // Trial 0 ends with its node; the scheduler then asks for something of another one there.
  auto save_the_other = [](SchedulerContext& context) { context.save(TrialId{1}); };
  bench.join(0, 2).suggest(0).suggest(1).report(0, 1);
  bench.scheduler.choose = [=](SchedulerContext& context) -> std::optional<TrialId> {
    save_the_other(context);
    context.hold();
    return std::nullopt;
  };
  bench.leave(0);
  CHECK(bench.given<Save>().empty());
}

TEST_CASE("a trial keeps its seed, and no two have the same", "[engine]") {
  EngineOptions options = minimise_loss();
  options.max_failures = 1;
  options.seed = 7;
  EngineBench bench(options);
  bench.join(0, 2).suggest(0).suggest(1);
  const std::uint64_t seed = bench.launch(0).seed;
  CHECK(seed != bench.launch(1).seed);
  bench.end(0, EndKind::failed);
  CHECK(bench.launch(0).incarnation == 2);
  CHECK(bench.launch(0).seed == seed);
  options.seed = 8;
  EngineBench other(options);
  other.join().suggest(0);
  CHECK(other.launch(0).seed != seed);
}

TEST_CASE("a slot that is held stays free though trials wait", "[engine]") {
  EngineOptions options = minimise_loss();
  EngineBench bench(options);
  bench.join(0, 2).suggest(0);
  bench.scheduler.choose = [](SchedulerContext& context) -> std::optional<TrialId> {
    context.hold();
    return TrialId{1};
  };
  bench.suggest(1);
  CHECK(bench.given<Launch>().empty());
  CHECK(bench.engine.counts().pending == 1);
}

TEST_CASE("a paused trial that is chosen runs, without an unpause", "[engine]") {
  EngineBench bench(minimise_loss());
  bench.scheduler.result = [](SchedulerContext&, const Trial&, const Result&) {
    return Decision::pause;
  };
  bench.join().suggest(0).report(0, 1).store(0, 1);
  bench.scheduler.choose = [](SchedulerContext&) { return TrialId{0}; };
  bench.end(0, EndKind::paused);
  CHECK(bench.launch(0).incarnation == 2);
  CHECK(bench.ever<AskSearcher>().size() == 1);  // nobody was asked for a new one
}

/// A scheduler that counts how often it is asked what to run.
std::unique_ptr<PuppetScheduler> counting(int& calls) {
  auto puppet = std::make_unique<PuppetScheduler>();
  puppet->choose = [&calls](SchedulerContext& context) -> std::optional<TrialId> {
    ++calls;
    const auto& pending = context.pending_trials();
    return pending.empty() ? std::nullopt : std::optional(*pending.begin());
  };
  return puppet;
}

TEST_CASE("with full slots and nothing pending a result does not ask what to run", "[engine]") {
  int calls = 0;
  EngineBench bench(minimise_loss(), counting(calls));
  bench.join(0, 3).suggest(0).suggest(1).suggest(2);
  const int calls_until_full = calls;
  for (int iteration = 1; iteration <= 20; ++iteration) {
    for (const std::uint64_t trial : {0, 1, 2}) bench.report(trial, iteration);
  }
  CHECK(calls == calls_until_full);
  bench.end(1, EndKind::finished, "");
  CHECK(calls > calls_until_full);
  CHECK(bench.given<AskSearcher>().size() == 1);
}

TEST_CASE("free slots that nothing can fill do not ask what to run", "[engine]") {
  int calls = 0;
  EngineBench bench(minimise_loss(), counting(calls));
  bench.join(0, 3).suggest(0).exhaust(1);
  const int calls_before = calls;
  for (int iteration = 1; iteration <= 20; ++iteration) bench.report(0, iteration);
  CHECK(calls == calls_before);
}

TEST_CASE("the context keeps the pending trials apart", "[engine]") {
  EngineOptions options = minimise_loss();
  options.max_failures = 1;
  EngineBench bench(options);
  std::set<TrialId> seen;
  bench.scheduler.choose = [&](SchedulerContext& context) -> std::optional<TrialId> {
    seen = context.pending_trials();
    if (seen.empty()) return std::nullopt;
    return *seen.begin();
  };
  bench.join(0, 1).suggest(0);
  CHECK(seen == std::set{TrialId{0}});
  CHECK(bench.engine.context().pending_trials().empty());
  bench.leave(0);
  CHECK(bench.engine.context().pending_trials() == std::set{TrialId{0}});
  bench.join(1, 1).report(0, 1).end(0, EndKind::finished, "");
  CHECK(bench.engine.context().pending_trials().empty());
}

/// Trial 0 wants 4 cpu, the others 1.
EngineOptions one_big_trial() {
  EngineOptions options = minimise_loss();
  options.fixed_cluster = false;
  options.max_failures = 1;
  options.resources.of = [](const Config& config) {
    return Resources{.cpu = config["x"].get<int>() == 0 ? 4.0 : 1.0};
  };
  return options;
}

TEST_CASE("a trial whose node is gone keeps no other from running", "[engine]") {
  EngineBench bench(one_big_trial());
  bench.join(0, 4).join(1, 1).suggest(0).suggest(1).exhaust(2).leave(0);
  CHECK(bench.state(0).state == TrialState::pending);
  bench.end(1, EndKind::failed);
  REQUIRE(bench.given<Launch>().size() == 1);
  CHECK(bench.given<Launch>().at(0).trial == TrialId{1});
  CHECK(bench.engine.waiting_reason().empty());
  bench.report(1, 1).end(1, EndKind::finished, "");
  CHECK(bench.engine.waiting_reason() == "trial 0 waits for 4 cpu: no node is big enough");
  CHECK_FALSE(bench.engine.is_finished());
  CHECK(bench.join(2, 4).given<Launch>().size() == 1);
}

TEST_CASE("a trial with a bigger request of its own keeps no new one from being asked for",
          "[engine]") {
  EngineOptions options = minimise_loss();
  options.fixed_cluster = false;
  EngineBench bench(options);
  bench.scheduler.added = [](SchedulerContext& context, const Trial& trial) {
    if (trial.id() == TrialId{0}) context.set_resources(TrialId{0}, {.cpu = 4});
  };
  CHECK(bench.join(0, 2).suggest(0).given<AskSearcher>().size() == 1);
  CHECK(bench.suggest(1).given<Launch>().size() == 1);
}

TEST_CASE("what a trial needs is not known: one that waits for a node is not joined by more",
          "[engine]") {
  EngineBench bench(one_big_trial());
  CHECK(bench.join(0, 1).suggest(0).given<AskSearcher>().empty());
  CHECK(bench.join(1, 1).given<AskSearcher>().empty());
  CHECK(bench.join(2, 4).given<Launch>().size() == 1);
  CHECK(bench.given<AskSearcher>().size() == 1);
}

TEST_CASE("a trial that will have room when others end is not overtaken", "[engine]") {
  EngineBench bench(one_big_trial());
  bench.join(0, 4).suggest(0).suggest(1);
  CHECK(bench.end(0, EndKind::failed).launch(0).incarnation == 2);  // first by its id
  bench.end(0, EndKind::finished, "");
  EngineBench other(one_big_trial());
  other.join(0, 1).suggest(0).join(1, 4).report(0, 1);
  other.suggest(1).suggest(2);
  CHECK(other.engine.counts().running == 2);  // trials 0 and 1
  other.end(0, EndKind::failed);
  CHECK(other.launch(0).incarnation == 2);
}

TEST_CASE("a scheduler that insists on a trial without a node keeps the slots for it", "[engine]") {
  EngineBench bench(one_big_trial());
  bench.join(0, 4).join(1, 1).suggest(0).suggest(1).exhaust(2);
  int calls = 0;
  bench.scheduler.choose = [&](SchedulerContext& context) -> std::optional<TrialId> {
    ++calls;
    if (context.find(TrialId{0}) == nullptr) return std::nullopt;
    return TrialId{0};
  };
  bench.leave(0);
  CHECK(calls == 2);
  bench.end(1, EndKind::failed);
  CHECK(bench.given<Launch>().empty());
  CHECK(bench.engine.waiting_reason() == "trial 0 waits for 4 cpu: no node is big enough");
}

TEST_CASE("the reason of waiting names what the next trial waits for", "[RS-01]") {
  EngineOptions options = minimise_loss();
  options.resources = {.cpu = 11};
  options.fixed_cluster = false;
  EngineBench bench(options);
  bench.join(0, 4);
  CHECK(bench.engine.waiting_reason() == "the next trial waits for 11 cpu: no node is big enough");
}

}  // namespace
}  // namespace tune::engine
