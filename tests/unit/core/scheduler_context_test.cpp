#include <tune/scheduler_context.hpp>

#include <cmath>
#include <stdexcept>
#include <variant>

#include <catch2/catch.hpp>

namespace tune {
namespace {

TEST_CASE("requests are kept in the order of asking and taken once", "[scheduler_context]") {
  SchedulerContext context(Mode::max);
  context.add(Trial(TrialId{1}));
  CHECK_FALSE(context.has_requests());
  context.stop(TrialId{1});
  context.pause(TrialId{1});
  context.unpause(TrialId{1});
  context.save(TrialId{1});
  context.set_resources(TrialId{1}, {.cpu = 2});
  context.no_decision_before(TrialId{1}, 3);
  context.explain(TrialId{1}, "because");
  CHECK(context.has_requests());

  const auto requests = context.take_requests();
  REQUIRE(requests.size() == 7);
  CHECK(std::get<StopTrial>(requests[0]).trial == TrialId{1});
  CHECK(std::holds_alternative<PauseTrial>(requests[1]));
  CHECK(std::holds_alternative<UnpauseTrial>(requests[2]));
  CHECK(std::holds_alternative<SaveTrial>(requests[3]));
  CHECK(std::get<ChangeResources>(requests[4]).resources.cpu == 2);
  CHECK(std::get<DecisionHorizon>(requests[5]).time == 3);
  CHECK(std::get<Explanation>(requests[6]).reason == "because");
  CHECK(context.take_requests().empty());
}

TEST_CASE("a request for a trial that is not live does nothing", "[scheduler_context]") {
  SchedulerContext context(Mode::max);
  context.add(Trial(TrialId{1}));
  context.finish(TrialId{1}, {.state = TrialState::terminated, .last_target = 0.5});
  for (const TrialId id : {TrialId{1}, TrialId{2}}) {
    context.stop(id);
    context.pause(id);
    context.unpause(id);
    context.save(id);
    context.set_resources(id, {});
    context.no_decision_before(id, 3);
    context.explain(id, "because");
    CHECK_FALSE(context.exploit(id, id, Config()));
  }
  CHECK_FALSE(context.has_requests());
  CHECK(context.find(TrialId{1}) == nullptr);
  CHECK(context.live_trials().empty());
  CHECK(context.finished_trials().at(TrialId{1}).last_target == 0.5);
}

TEST_CASE("exploit needs a stored checkpoint of its source", "[scheduler_context]") {
  SchedulerContext context(Mode::max);
  context.add(Trial(TrialId{1}));
  context.add(Trial(TrialId{2}));
  CHECK_FALSE(context.exploit(TrialId{1}, TrialId{2}, Config(Json{{"lr", 1}})));
  CHECK_FALSE(context.has_requests());
  context.find_mutable(TrialId{2})->set_checkpoint_iteration(5);
  CHECK(context.exploit(TrialId{1}, TrialId{2}, Config(Json{{"lr", 1}})));
  const auto requests = context.take_requests();
  REQUIRE(requests.size() == 1);
  const auto& exploit = std::get<ExploitTrial>(requests[0]);
  CHECK(exploit.target == TrialId{1});
  CHECK(exploit.source == TrialId{2});
  CHECK(exploit.config == Config(Json{{"lr", 1}}));
}

TEST_CASE("a horizon of nan is refused", "[scheduler_context]") {
  SchedulerContext context(Mode::max);
  context.add(Trial(TrialId{4}));
  CHECK_THROWS_AS(context.no_decision_before(TrialId{4}, NAN), std::invalid_argument);
  CHECK_THROWS_WITH(context.no_decision_before(TrialId{4}, NAN), Catch::Contains("trial 4"));
  CHECK_NOTHROW(context.no_decision_before(TrialId{4}, INFINITY));
}

TEST_CASE("chance is keyed by seed, trial and index alone", "[scheduler_context]") {
  const SchedulerContext context(Mode::max, 7);
  const auto draw = [](const SchedulerContext& from, std::uint64_t id, std::uint64_t index = 0) {
    return from.random(TrialId{id}, index).next();
  };
  CHECK(draw(context, 1) == draw(SchedulerContext(Mode::min, 7), 1));
  CHECK(draw(context, 1) != draw(context, 2));
  CHECK(draw(context, 1) != draw(context, 1, 1));
  CHECK(draw(context, 1) != draw(SchedulerContext(Mode::max, 8), 1));
}

TEST_CASE("a trial that waits for its retry is not among the pending ones", "[scheduler_context]") {
  const TrialId id{1};
  SchedulerContext context(Mode::max);
  CHECK_FALSE(context.add(Trial(id)).waits_for_retry());
  context.set_state(id, TrialState::running);
  context.set_waits_for_retry(id, true);
  context.set_state(id, TrialState::pending);
  CHECK(context.find(id)->waits_for_retry());
  CHECK(context.pending_trials().empty());
  context.set_aside(id);
  context.put_back();
  CHECK(context.pending_trials().empty());
  context.set_state(id, TrialState::paused);
  context.set_state(id, TrialState::pending);
  CHECK(context.pending_trials().empty());
  context.set_waits_for_retry(id, false);
  CHECK(context.pending_trials() == std::set{id});
}

TEST_CASE("hold is taken once", "[scheduler_context]") {
  SchedulerContext context(Mode::max);
  CHECK_FALSE(context.take_hold());
  context.hold();
  CHECK(context.take_hold());
  CHECK_FALSE(context.take_hold());
}

TEST_CASE("the context keeps the running trials apart", "[scheduler_context]") {
  SchedulerContext context(Mode::max);
  context.add(Trial(TrialId{1}));
  context.add(Trial(TrialId{2}));
  CHECK(context.running_trials().empty());
  context.set_state(TrialId{1}, TrialState::running);
  context.set_state(TrialId{2}, TrialState::running);
  CHECK(context.running_trials().size() == 2);
  context.set_state(TrialId{1}, TrialState::paused);
  context.finish(TrialId{2}, {});
  CHECK(context.running_trials().empty());
}

TEST_CASE("the context tells which pending trials wait for a node", "[scheduler_context]") {
  SchedulerContext context(Mode::max);
  context.add(Trial(TrialId{1}));
  CHECK(context.aside_trials().empty());
  context.set_aside(TrialId{1});
  CHECK(context.aside_trials().contains(TrialId{1}));
  CHECK(context.pending_trials().empty());
  context.put_back();
  CHECK(context.aside_trials().empty());
  CHECK(context.pending_trials().contains(TrialId{1}));
}

}  // namespace
}  // namespace tune
