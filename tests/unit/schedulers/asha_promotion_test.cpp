// The promotion type of ASHA.

#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/schedulers/asha.hpp>
#include <tune/schedulers/builtin.hpp>

#include "support/slot_bench.hpp"

namespace tune {
namespace {

using Catch::Contains;
using test::SlotBench;

AshaOptions promotion(double max_t, double reduction_factor) {
  return {.max_t = max_t, .reduction_factor = reduction_factor, .type = AshaType::promotion};
}

// The setting is cited: figure 1's bracket 0, n = 9, r = 1, R = 9, eta = 3, one worker, which
// appendix A.1 takes to compare SHA and ASHA. The losses are ours, so that the 8th trial is the
// best, then the 6th, then the first; and the order of jobs is worked out by hand from algorithm 2,
// not copied from the appendix: get_job looks from the highest rung down for one of the top
// floor(|rung| / eta) that was not promoted, else begins another trial.
TEST_CASE("ASHA paper, algorithm 2 in the setting of appendix A.1: who is promoted, and when",
          "[asha][promotion]") {
  SlotBench bench(asha(promotion(9, 3)), {0.3, 0.8, 0.7, 0.9, 0.6, 0.2, 0.5, 0.1, 0.4});
  bench.run(1);
  // Trials from 0: with three in rung 1 the best goes on; with six the second; trial 7 is among the
  // best floor(8 / 3) at once, and then the best of three in rung 3.
  CHECK(bench.text() == "0:1 1:1 2:1 0:3 3:1 4:1 5:1 5:3 6:1 7:1 7:3 7:9 8:1 ");
  CHECK(bench.ended == std::map<std::uint64_t, double>{
                           {0, 3}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 3}, {6, 1}, {7, 9}, {8, 1}});
}

// Section 3.2: with 9 workers, training anew at each rung, bracket 0 of figure 1 has its first
// trial at R in 1/9 + 1/3 + 1 = 13/9 of the time that R takes.
TEST_CASE("ASHA paper, section 3.2: 13/9 of time(R) with nine workers", "[asha][promotion]") {
  SlotBench bench(
      asha(promotion(9, 3)), [](std::uint64_t trial, double) { return static_cast<double>(trial); },
      [](std::uint64_t, double, double to, std::uint64_t) -> SlotBench::Piece {
        return {.seconds = to};
      });
  bench.most_trials = 9;
  bench.run(9);
  CHECK(bench.ended.at(0) == 9);
  CHECK(bench.now_s == 13);
}

TEST_CASE("SC-01: the promotion type refuses the same options", "[SC-01]") {
  AshaOptions options = promotion(5, 4);
  options.grace_period = 10;
  CHECK_THROWS_WITH(asha(options), "asha: max_t must be at least grace_period, which is 10, is 5");
  options.grace_period = 5;
  SlotBench bench(asha(options), {3, 1, 2});
  bench.run(1);
  CHECK(bench.text() == "0:5 1:5 2:5 ");
  CHECK_THROWS_WITH(async_hyperband({.reduction_factor = 1}),
                    "async_hyperband: reduction_factor must be above 1, is 1");
}

TEST_CASE("SC-02: a trial that jumps over rungs enters each and waits in the highest", "[SC-02]") {
  SlotBench bench(
      asha(promotion(64, 4)),
      [](std::uint64_t trial, double) { return static_cast<double>(trial); },
      [](std::uint64_t trial, double, double, std::uint64_t) -> SlotBench::Piece {
        return {.seconds = 1, .overshoot = trial == 0 ? 19.0 : 0};
      });
  bench.most_trials = 8;
  bench.run(1);
  // Trial 0 reports 20 first: it stands in rungs 1, 4 and 16. In rung 1 it has the one place of
  // four, and of eight trial 1 has the other.
  CHECK(bench.text() == "0:1 1:1 2:1 3:1 4:1 5:1 6:1 7:1 1:4 ");
  CHECK_THAT(bench.explanation(0), Contains("rung 16: 0 is not among the best 0 of 1"));
}

TEST_CASE("SC-03: a trial pauses with exactly as many iterations as its milestone", "[SC-03]") {
  AshaOptions options = promotion(640, 4);
  options.grace_period = 10;
  std::vector<double> losses(64);
  for (std::size_t i = 0; i < losses.size(); ++i) losses[i] = static_cast<double>(i);
  SlotBench bench(asha(options), losses);
  bench.run(1);
  std::map<double, int> ended;
  for (const auto& [id, time] : bench.ended) ++ended[time];
  CHECK(ended == std::map<double, int>{{10, 48}, {40, 12}, {160, 3}, {640, 1}});
}

TEST_CASE("with fewer trials than the factor nobody is promoted and all end", "[asha][promotion]") {
  SlotBench bench(asha(promotion(16, 4)), {1, 2, 3});
  bench.run(2);
  CHECK(bench.ended == std::map<std::uint64_t, double>{{0, 1}, {1, 1}, {2, 1}});
  CHECK(bench.explanation(0) ==
        "rung 1: 1 is not among the best 0 of 3; no trial is left that could change this");
}

TEST_CASE("who waits is not stopped while a trial may still fill the rung", "[asha][promotion]") {
  // Trial 3 takes long, and the searcher has no more: with its value, the worst, trial 0 has a
  // place.
  SlotBench bench(
      asha(promotion(4, 4)), [](std::uint64_t trial, double) { return static_cast<double>(trial); },
      [](std::uint64_t trial, double, double, std::uint64_t) -> SlotBench::Piece {
        return {.seconds = trial == 3 ? 100.0 : 1.0};
      });
  bench.most_trials = 4;
  bench.run(2);
  CHECK(bench.text() == "0:1 1:1 2:1 3:1 0:4 ");
}

TEST_CASE("if that trial fails for good the others are stopped", "[asha][promotion]") {
  SlotBench bench(
      asha(promotion(4, 4)), [](std::uint64_t trial, double) { return static_cast<double>(trial); },
      [](std::uint64_t trial, double, double, std::uint64_t) -> SlotBench::Piece {
        return {.seconds = 1, .is_lost = trial == 3};
      });
  bench.most_trials = 4;
  bench.lost_for_good = true;
  bench.run(2);
  CHECK(bench.text() == "0:1 1:1 2:1 3:1 ");
  CHECK(bench.context().live_trials().empty());
}

TEST_CASE("equal values are promoted by the lower id, NaN last", "[asha][promotion]") {
  SlotBench bench(asha(promotion(2, 2)), {1, 1, NAN, 1, 1, NAN});
  bench.run(1);
  CHECK(bench.text() == "0:1 1:1 0:2 2:1 3:1 1:2 4:1 5:1 3:2 ");
}

TEST_CASE("a value counts after its trial has failed, and that trial is not promoted",
          "[asha][promotion]") {
  SchedulerContext context(Mode::min);
  const auto scheduler = asha(promotion(2, 2));
  const auto report = [&](std::uint64_t id, double value) {
    const Trial& trial = context.add(Trial(TrialId{id}));
    scheduler->on_trial_added(context, trial);
    CHECK(scheduler->on_trial_result(context, trial, Result(value, 1)) == Decision::pause);
    context.set_state(TrialId{id}, TrialState::paused);
  };
  report(0, 0.1);
  scheduler->on_trial_failed(context, *context.find(TrialId{0}));
  context.finish(TrialId{0}, {.state = TrialState::error});
  report(1, 0.2);
  CHECK_FALSE(scheduler->choose_trial_to_run(context));  // trial 0 has the one place
  report(2, 0.3);
  report(3, 0.4);
  CHECK(scheduler->choose_trial_to_run(context) == TrialId{1});
}

TEST_CASE("a trial promoted on its way to the pause needs no slot of its own",
          "[asha][promotion]") {
  SchedulerContext context(Mode::min);
  const auto scheduler = asha(promotion(2, 2));
  for (std::uint64_t id = 0; id < 2; ++id) {
    const Trial& trial = context.add(Trial(TrialId{id}));
    scheduler->on_trial_added(context, trial);
    (void)scheduler->on_trial_result(context, trial, Result(static_cast<double>(id), 1));
    context.set_state(TrialId{id}, TrialState::running);  // it still saves
  }
  (void)context.take_requests();
  CHECK_FALSE(scheduler->choose_trial_to_run(context));
  bool is_unpaused = false;
  for (const SchedulerRequest& request : context.take_requests()) {
    const auto* unpause = std::get_if<UnpauseTrial>(&request);
    is_unpaused = is_unpaused || (unpause != nullptr && unpause->trial == TrialId{0});
  }
  CHECK(is_unpaused);
}

TEST_CASE("a searcher that waits while none can be promoted gets room", "[asha][promotion]") {
  SchedulerContext context(Mode::min);
  const auto scheduler = asha(promotion(4, 4));
  for (std::uint64_t id = 0; id < 3; ++id) {
    const Trial& trial = context.add(Trial(TrialId{id}));
    scheduler->on_trial_added(context, trial);
    (void)scheduler->on_trial_result(context, trial, Result(static_cast<double>(id % 2), 1));
    context.set_state(TrialId{id}, TrialState::paused);
  }
  (void)context.take_requests();
  context.set_new_trials(NewTrials::waiting);
  CHECK_FALSE(scheduler->choose_trial_to_run(context));
  std::vector<TrialId> stopped;
  for (const SchedulerRequest& request : context.take_requests()) {
    if (const auto* stop = std::get_if<StopTrial>(&request)) stopped.push_back(stop->trial);
  }
  CHECK(stopped == std::vector<TrialId>{TrialId{1}});  // the worst
}

TEST_CASE("a trial that ended and goes on after all enters only further rungs",
          "[asha][promotion]") {
  SchedulerContext context(Mode::min);
  const auto scheduler = asha(promotion(9, 3));
  Trial& trial = context.add(Trial(TrialId{0}));
  scheduler->on_trial_added(context, trial);
  trial.add_result(Result(1, 1));
  CHECK(scheduler->on_trial_result(context, trial, Result(1, 1)) == Decision::pause);
  scheduler->on_trial_failed(context, trial);
  scheduler->on_trial_added(context, trial);
  CHECK(scheduler->on_trial_result(context, trial, Result(1, 2)) == Decision::proceed);
  CHECK(scheduler->on_trial_result(context, trial, Result(1, 3)) == Decision::pause);
  CHECK(scheduler->save().at("brackets").at(0).at(0).size() == 1);
}

TEST_CASE("without stop_last_trials a trial trains on from max_t", "[asha][promotion]") {
  AshaOptions options = promotion(2, 2);
  options.stop_last_trials = false;
  SchedulerContext context(Mode::min);
  const auto scheduler = asha(options);
  const Trial& trial = context.add(Trial(TrialId{0}));
  scheduler->on_trial_added(context, trial);
  CHECK(scheduler->on_trial_result(context, trial, Result(1, 2)) == Decision::proceed);
  CHECK(scheduler->on_trial_result(context, trial, Result(1, 50)) == Decision::proceed);
}

TEST_CASE("asha promotion is made by name, and a wrong type is refused", "[asha][promotion]") {
  register_builtin_schedulers();
  const auto scheduler = make_scheduler("asha", {{"type", "promotion"}, {"max_t", 9}});
  CHECK(scheduler->needs_checkpoints());
  CHECK(scheduler->options().at("type") == "promotion");
  CHECK(make_scheduler("asha", scheduler->options())->options() == scheduler->options());
  CHECK_THROWS_WITH(make_scheduler("asha", {{"type", "pausing"}}),
                    R"(asha: type is "pausing", want "stopping" or "promotion")");
  const auto same = make_scheduler("async_hyperband", {{"brackets", 3}});
  CHECK(same->options().at("name") == "async_hyperband");
  CHECK(make_scheduler("async_hyperband", same->options())->options() == same->options());
}

TEST_CASE("a state of other options is refused by the promotion type", "[asha][promotion]") {
  SlotBench bench(asha(promotion(27, 3)), {1, 2, 3, 4});
  bench.run(1, 4);
  CHECK_THROWS_WITH(bench.restore_into(asha(promotion(81, 3))),
                    Contains("has 3 rungs, the options make 4"));
  CHECK_THAT(bench.scheduler().describe(), Contains("rung 1: 3 values, 2 wait, cut-off 1"));
}

}  // namespace
}  // namespace tune
