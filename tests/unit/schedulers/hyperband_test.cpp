// Synchronous HyperBand, BOHB's HyperBand and successive halving.

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/schedulers/builtin.hpp>
#include <tune/schedulers/hyperband.hpp>
#include <tune/schedulers/successive_halving.hpp>

#include "support/slot_bench.hpp"

namespace tune {
namespace {

using Catch::Contains;
using test::SlotBench;

std::vector<double> rising(std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i);
  return values;
}

// How many trials ever trained towards each horizon, begun from scratch or not, by first trial of
// their bracket.
using Rungs = std::map<double, int>;

Rungs rungs_of(const SlotBench& bench, std::uint64_t first, std::uint64_t count) {
  Rungs rungs;
  for (const auto& [trial, time] : bench.jobs) {
    if (trial >= first && trial < first + count) ++rungs[time];
  }
  return rungs;
}

// Li et al. 2018, algorithm 1: bracket s begins n = ceil((s_max + 1) eta^s / (s + 1)) trials with
// r = R eta^-s, and keeps floor(n eta^-i) for rung i. The numbers below are worked out from that;
// table 1, for the same R and eta, has 27, 9 and 6 trials in place of 34, 15 and 8.
TEST_CASE("HyperBand paper, algorithm 1: 81, 34, 15, 8, 5 trials for R = 81 and eta = 3",
          "[hyperband]") {
  SlotBench bench(hyperband(), rising(143 + 81));
  bench.run(1);
  CHECK(rungs_of(bench, 0, 81) == Rungs{{1, 81}, {3, 27}, {9, 9}, {27, 3}, {81, 1}});
  CHECK(rungs_of(bench, 81, 34) == Rungs{{3, 34}, {9, 11}, {27, 3}, {81, 1}});
  CHECK(rungs_of(bench, 115, 15) == Rungs{{9, 15}, {27, 5}, {81, 1}});
  CHECK(rungs_of(bench, 130, 8) == Rungs{{27, 8}, {81, 2}});
  CHECK(rungs_of(bench, 138, 5) == Rungs{{81, 5}});
  CHECK(rungs_of(bench, 143, 81) == Rungs{{1, 81}, {3, 27}, {9, 9}, {27, 3}, {81, 1}});
  CHECK(bench.context().live_trials().empty());
}

TEST_CASE("brackets are counted by multiplication where the logarithm errs", "[hyperband]") {
  // log(243) / log(3) is below 5 in floating point, log(1000) / log(10) below 3.
  for (const auto& [max_t, factor, first] :
       std::vector<std::tuple<double, double, std::size_t>>{{243, 3, 243}, {1000, 10, 1000}}) {
    SlotBench bench(hyperband({.max_t = max_t, .reduction_factor = factor}), rising(first));
    bench.run(1);
    CHECK(rungs_of(bench, 0, first).begin()->first == 1);
    CHECK(rungs_of(bench, 0, first).begin()->second == static_cast<int>(first));
  }
}

TEST_CASE("SC-01: options of HyperBand that cannot work are refused", "[SC-01]") {
  CHECK_THROWS_WITH(hyperband({.max_t = 0.5}), "hyperband: max_t must be at least 1, is 0.5");
  CHECK_THROWS_WITH(hyperband({.max_t = NAN}), Contains("is nan"));
  CHECK_THROWS_WITH(hyperband({.reduction_factor = 1}),
                    "hyperband: reduction_factor must be above 1, is 1");
  CHECK_THROWS_WITH(hyperband_for_bohb({.metric = "loss"}), Contains("bohb: metric is loss"));
  CHECK_THROWS_WITH(successive_halving({.max_t = 5, .grace_period = 10}),
                    "successive_halving: max_t must be at least grace_period, which is 10, is 5");
  CHECK_THROWS_WITH(successive_halving({.n = -1}), Contains("n must be at least 1"));
  CHECK_THROWS_WITH(successive_halving({.max_t = 9, .bracket = 3}),
                    Contains("bracket must be from 0 to 2") && Contains("is 3"));
}

TEST_CASE("SC-05: HyperBand with too few trials ends, and one trial reaches max_t", "[SC-05]") {
  const auto check = [](double max_t, double factor, std::size_t samples) {
    CAPTURE(max_t, factor);
    SlotBench bench(hyperband({.max_t = max_t, .reduction_factor = factor}), rising(samples));
    bench.run(2);
    CHECK(bench.context().live_trials().empty());
    CHECK(bench.ended.size() == samples);
    CHECK(bench.ended.at(0) >= max_t);
  };
  check(9, 3, 5);
  check(100, 7, 7);
  check(81, 3, 7);
  check(10, 4, 7);
  check(5, 3, 7);
}

TEST_CASE("SC-06: a trial that jumps beyond max_t is stopped and not waited for", "[SC-06]") {
  SlotBench bench(
      hyperband({.max_t = 9}),
      [](std::uint64_t trial, double) { return static_cast<double>(trial); },
      [](std::uint64_t trial, double from, double to, std::uint64_t) -> SlotBench::Piece {
        return {.seconds = 1, .overshoot = trial == 0 && from == 1 ? 20 - to : 0};
      });
  bench.most_trials = 9;
  bench.run(1);
  CHECK(bench.explanation(0) == "reached max_t: training_iteration 20 of 9");
  CHECK(bench.ended.at(0) == 20);
  CHECK(bench.ended.at(1) == 9);  // the next best takes its place
  CHECK(bench.context().live_trials().empty());
}

TEST_CASE("a trial that jumps over a milestone is compared there without training", "[hyperband]") {
  SlotBench bench(
      hyperband({.max_t = 9}),
      [](std::uint64_t trial, double) { return static_cast<double>(trial); },
      [](std::uint64_t trial, double from, double, std::uint64_t) -> SlotBench::Piece {
        return {.seconds = 1, .overshoot = trial == 1 && from == 0 ? 3.0 : 0};
      });
  bench.most_trials = 9;
  bench.run(1);
  CHECK(rungs_of(bench, 1, 1) == Rungs{{1, 1}});
  CHECK(bench.ended.at(1) == 4);
  CHECK(bench.explanation(1) == "bracket 0, rung 3: 1 ranks 2 of 3; the best 1 goes on, cut-off 0");
}

TEST_CASE("SC-07: one slot fills brackets of 9, 5 and 3", "[SC-07]") {
  SlotBench bench(hyperband({.max_t = 9}), rising(17));
  bench.run(1);
  CHECK(rungs_of(bench, 0, 9) == Rungs{{1, 9}, {3, 3}, {9, 1}});
  CHECK(rungs_of(bench, 9, 5) == Rungs{{3, 5}, {9, 1}});
  CHECK(rungs_of(bench, 14, 3) == Rungs{{9, 3}});
}

TEST_CASE("SC-08: a bracket closes where the searcher has no more", "[SC-08]") {
  SlotBench bench(hyperband({.max_t = 27}), rising(9));  // the first bracket wants 27
  bench.run(4);
  CHECK(rungs_of(bench, 0, 9) == Rungs{{1, 9}, {3, 3}, {9, 1}, {27, 1}});
  CHECK(bench.context().live_trials().empty());
}

TEST_CASE("a bracket closes where the searcher waits and none runs", "[hyperband]") {
  SchedulerContext context(Mode::max);
  const auto scheduler = hyperband({.max_t = 9});
  for (std::uint64_t id = 0; id < 3; ++id) {
    const Trial& trial = context.add(Trial(TrialId{id}));
    scheduler->on_trial_added(context, trial);
    context.set_new_trials(NewTrials::waiting);
    context.set_state(TrialId{id}, TrialState::running);
    if (id == 2) CHECK_FALSE(scheduler->choose_trial_to_run(context));  // it may bring news
    const Result result(static_cast<double>(id), 1);
    CHECK(scheduler->on_trial_result(context, trial, result) == Decision::pause);
    context.set_state(TrialId{id}, TrialState::paused);
  }
  CHECK(scheduler->choose_trial_to_run(context) == TrialId{2});
}

TEST_CASE("members that fail are dropped from their rung, and the bracket goes on", "[hyperband]") {
  for (const std::uint64_t lost : {0, 4, 9, 10, 12}) {
    CAPTURE(lost);
    SlotBench bench(
        hyperband({.max_t = 9}),
        [](std::uint64_t trial, double) { return static_cast<double>(trial); },
        [=](std::uint64_t, double from, double to, std::uint64_t job) -> SlotBench::Piece {
          return {.seconds = to - from, .is_lost = job == lost};
        });
    bench.most_trials = 9;
    bench.lost_for_good = true;
    bench.run(3);
    CHECK(bench.context().live_trials().empty());
    CHECK(bench.ended.size() == 8);
    const Rungs rungs = rungs_of(bench, 0, 9);
    CHECK(rungs.at(1) == 9);
    CHECK(rungs.at(3) == 3);
    CHECK(rungs.at(9) == 1);
  }
}

TEST_CASE("if all members of a rung fail the bracket is over", "[hyperband]") {
  SlotBench bench(
      hyperband({.max_t = 9}),
      [](std::uint64_t trial, double) { return static_cast<double>(trial); },
      [](std::uint64_t trial, double, double, std::uint64_t) -> SlotBench::Piece {
        return {.seconds = 1, .is_lost = trial < 9};
      });
  bench.most_trials = 14;
  bench.lost_for_good = true;
  bench.run(2);
  CHECK(bench.ended.size() == 5);
  CHECK(bench.ended.at(9) == 9);
}

TEST_CASE("each decision has its evidence, of equal values the lower id is ahead", "[hyperband]") {
  SlotBench bench(hyperband({.max_t = 9}), {1, NAN, 1, 0.5, 2, 1, NAN, 3, INFINITY});
  bench.run(1);
  CHECK(bench.explanation(3) == "reached max_t: training_iteration 9 of 9");
  CHECK(bench.explanation(0) ==
        "bracket 0, rung 3: 1 ranks 2 of 3; the best 1 goes on, cut-off 0.5");
  CHECK(bench.explanation(5) == "bracket 0, rung 1: 1 ranks 4 of 9; the best 3 go on, cut-off 1");
  CHECK(bench.explanation(8) == "bracket 0, rung 1: inf ranks 7 of 9; the best 3 go on, cut-off 1");
  CHECK(bench.explanation(6) == "bracket 0, rung 1: nan ranks 9 of 9; the best 3 go on, cut-off 1");
}

TEST_CASE("HyperBand uses a free slot for the next bracket, BOHB's waits for the rung",
          "[hyperband][bohb]") {
  // Trial 0 takes long to its first milestone; two slots.
  const auto run = [](std::unique_ptr<TrialScheduler> scheduler) {
    SlotBench bench(
        std::move(scheduler),
        [](std::uint64_t trial, double) { return static_cast<double>(trial); },
        [](std::uint64_t trial, double from, double, std::uint64_t) -> SlotBench::Piece {
          return {.seconds = trial == 0 && from == 0 ? 100.0 : 1.0};
        });
    bench.most_trials = 17;
    bench.run(2);
    CHECK(bench.context().live_trials().empty());
    CHECK(bench.ended.size() == 17);
    return bench.text();
  };
  CHECK_THAT(run(hyperband({.max_t = 9})), Catch::StartsWith("0:1 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1 "
                                                             "9:3 10:3 11:3 12:3 13:3 9:9 "));
  CHECK_THAT(run(hyperband_for_bohb({.max_t = 9})),
             Catch::StartsWith("0:1 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1 0:3 1:3 2:3 9:3 "));
}

TEST_CASE("without stop_last_trials a trial trains on and its bracket is over", "[hyperband]") {
  SchedulerContext context(Mode::min);
  const auto scheduler = hyperband({.max_t = 1, .stop_last_trials = false});
  const Trial& trial = context.add(Trial(TrialId{0}));
  scheduler->on_trial_added(context, trial);
  CHECK(scheduler->on_trial_result(context, trial, Result(1, 1)) == Decision::proceed);
  CHECK(scheduler->on_trial_result(context, trial, Result(1, 2)) == Decision::proceed);
  CHECK(scheduler->save().at("brackets").empty());
  scheduler->on_trial_completed(context, trial, Result(1, 2));
  CHECK(scheduler->save().at("trials").empty());
}

TEST_CASE("a trial that ended and goes on after all joins the newest bracket", "[hyperband]") {
  SchedulerContext context(Mode::min);
  const auto scheduler = hyperband({.max_t = 9});
  Trial& trial = context.add(Trial(TrialId{0}));
  scheduler->on_trial_added(context, trial);
  trial.add_result(Result(1, 2));
  CHECK(scheduler->on_trial_result(context, trial, Result(1, 2)) == Decision::pause);
  scheduler->on_trial_failed(context, trial);
  scheduler->on_trial_added(context, trial);
  CHECK(scheduler->save().at("brackets") == Json::parse("[[0, 0, 2, false]]"));
  CHECK(scheduler->on_trial_result(context, trial, Result(1, 3)) == Decision::pause);
}

TEST_CASE("successive halving has brackets of n trials from its first milestone on",
          "[successive_halving]") {
  SlotBench bench(successive_halving({.max_t = 18, .n = 6, .grace_period = 2}), rising(12));
  bench.run(1);
  for (const std::uint64_t first : {0, 6}) {
    CHECK(rungs_of(bench, first, 6) == Rungs{{2, 6}, {6, 2}, {18, 1}});
  }
  SlotBench later(successive_halving({.max_t = 27, .bracket = 2}), rising(3));
  later.run(1);
  CHECK(rungs_of(later, 0, 3) == Rungs{{9, 3}, {27, 1}});
}

TEST_CASE("the synchronous schedulers are made by name from their own options", "[hyperband]") {
  register_builtin_schedulers();
  for (const char* name : {"hyperband", "bohb", "successive_halving"}) {
    const auto scheduler =
        make_scheduler(name, {{"max_t", 27}, {"metric", "loss"}, {"mode", "min"}});
    CHECK(scheduler->options().at("name") == name);
    CHECK(scheduler->options().at("max_t") == 27.0);
    CHECK(scheduler->needs_checkpoints());
    CHECK(scheduler->objective()->metric == "loss");
    CHECK(make_scheduler(name, scheduler->options())->options() == scheduler->options());
  }
  CHECK(make_scheduler("hb_bohb")->options() == hyperband_for_bohb()->options());
  CHECK(make_scheduler("hyperband")->options() == Json::parse(R"({"name": "hyperband",
    "time_attr": "training_iteration", "max_t": 81.0, "reduction_factor": 3.0,
    "stop_last_trials": true})"));
  CHECK_THROWS_WITH(make_scheduler("hyperband", {{"n", 3}}), Contains(R"(unknown option "n")"));
}

TEST_CASE("an impossible saved state is refused", "[hyperband]") {
  const auto restore = [](const char* text) {
    hyperband({.max_t = 9})->restore(Json::parse(text));
  };
  CHECK_NOTHROW(restore(R"({"mode": "min", "next_bracket": 1, "brackets": [[0, 0, 1, false]],
    "trials": [[0, 0, 0, 0.0, 0.0]]})"));
  CHECK_THROWS_WITH(restore(R"({"mode": "min", "next_bracket": 1, "brackets": [[0, 7, 1, false]],
    "trials": []})"),
                    Contains("impossible bracket"));
  CHECK_THROWS_WITH(restore(R"({"mode": "min", "next_bracket": 1, "brackets": [],
    "trials": [[0, 0, 0, 0.0, 0.0]]})"),
                    Contains("impossible trial"));
}

}  // namespace
}  // namespace tune
