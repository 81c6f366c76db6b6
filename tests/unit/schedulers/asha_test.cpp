#include <tune/schedulers/asha.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/schedulers/builtin.hpp>

#include "support/scheduler_bench.hpp"

namespace tune {
namespace {

using Catch::Contains;
using test::SchedulerBench;

// The times at which the best of all trials is judged.
std::vector<double> decision_times(AshaOptions options) {
  options.time_attr = "epoch";  // may be fractional
  SchedulerBench bench(asha(options), Mode::max);
  bench.add(0);
  std::vector<double> times;
  do {
    times.push_back(bench.horizon(0));
  } while (bench.report(0, times.back(), 1) == Decision::proceed && times.size() < 100);
  return times;
}

// For each value in turn, whether a new trial with it passes the first rung.
std::vector<bool> passes(SchedulerBench& bench, const std::vector<double>& values) {
  std::vector<bool> passed;
  for (const double value : values) {
    const auto id = 100 + passed.size();
    passed.push_back(bench.report(id, 1, value) == Decision::proceed);
  }
  return passed;
}

TEST_CASE("SC-01: options that cannot work are refused with their numbers", "[SC-01]") {
  CHECK_THROWS_AS(asha({.max_t = 5, .grace_period = 10}), std::invalid_argument);
  CHECK_THROWS_WITH(asha({.max_t = 5, .grace_period = 10}),
                    "asha: max_t must be at least grace_period, which is 10, is 5");
  CHECK_THROWS_WITH(asha({.reduction_factor = 1}), "asha: reduction_factor must be above 1, is 1");
  CHECK_THROWS_WITH(asha({.reduction_factor = 0.5}), Contains("is 0.5"));
  CHECK_THROWS_WITH(asha({.reduction_factor = NAN}), Contains("is nan"));
  CHECK_THROWS_WITH(asha({.reduction_factor = INFINITY}), Contains("is inf"));
  CHECK_THROWS_WITH(asha({.grace_period = 0}), "asha: grace_period must be above 0, is 0");
  CHECK_THROWS_WITH(asha({.grace_period = -2}), Contains("is -2"));
  CHECK_THROWS_WITH(asha({.max_t = NAN}), Contains("is nan"));
  CHECK_THROWS_WITH(asha({.max_t = INFINITY}), Contains("is inf"));
  CHECK_THROWS_WITH(asha({.reduction_factor = 1.000001}), Contains("more than 10000 milestones"));
  CHECK_THROWS_WITH(asha({.time_attr = ""}), Contains("time_attr"));
  CHECK_THROWS_WITH(asha({.metric = "loss"}), Contains("metric is loss, so mode must be"));
  CHECK_THROWS_WITH(asha({.brackets = 0}), Contains("brackets must be from 1 to 4"));
  CHECK_THROWS_WITH(asha({.max_t = 9, .reduction_factor = 3, .brackets = 4}),
                    Contains("brackets must be from 1 to 3") && Contains("is 4"));
}

TEST_CASE("SC-01: a grace period as long as the whole training stops nobody early", "[SC-01]") {
  SchedulerBench bench(asha({.max_t = 5, .grace_period = 5}), Mode::max);
  for (int id = 0; id < 10; ++id) CHECK(bench.train(id, -id) == 5);
}

TEST_CASE("milestones are made by multiplication, so the last rung is kept", "[asha]") {
  CHECK(decision_times({.max_t = 243, .reduction_factor = 3}) ==
        std::vector<double>{1, 3, 9, 27, 81, 243});
  CHECK(decision_times({.max_t = 1000, .reduction_factor = 10}) ==
        std::vector<double>{1, 10, 100, 1000});
  CHECK(decision_times({.max_t = 100, .grace_period = 2, .reduction_factor = 4}) ==
        std::vector<double>{2, 8, 32, 100});
  CHECK(decision_times({.max_t = 10, .reduction_factor = 2.5}) ==
        std::vector<double>{1, 2.5, 6.25, 10});
  CHECK(decision_times({.max_t = 5, .grace_period = 5}) == std::vector<double>{5});
}

TEST_CASE("SC-02: a trial that jumps over rungs is judged at the highest it reached", "[SC-02]") {
  SchedulerBench bench(asha({.max_t = 256, .reduction_factor = 4}), Mode::max);
  for (int id = 0; id < 4; ++id) {
    for (const double time : {1, 4, 16}) REQUIRE(bench.report(id, time, 10) == Decision::proceed);
  }
  CHECK(bench.report(4, 1, 100) == Decision::proceed);
  CHECK(bench.report(4, 20, 1) == Decision::stop);
  CHECK(bench.explanation(4) == "rung 16: 1 ranks 5 of 5; the best 1 goes on, cut-off 10");
  // One entry in each rung, no second one in those jumped over.
  CHECK(bench.scheduler().describe() ==
        "asha up to 256; rung 1: 5 values, cut-off 100; rung 4: 5 values, cut-off 10; "
        "rung 16: 5 values, cut-off 10; rung 64: 0 values");
}

TEST_CASE("a trial that jumps to max_t is stopped there and enters the rungs before", "[asha]") {
  SchedulerBench bench(asha({.max_t = 9, .reduction_factor = 3}), Mode::max);
  CHECK(bench.report(0, 30, 7) == Decision::stop);
  CHECK(bench.explanation(0) == "reached max_t: training_iteration 30 of 9");
  CHECK(bench.scheduler().describe() ==
        "asha up to 9; rung 1: 1 value, cut-off 7; rung 3: 1 value, cut-off 7");
}

TEST_CASE("SC-03: a stopped trial has exactly as many results as its milestone", "[SC-03]") {
  SchedulerBench bench(asha({.max_t = 1000, .grace_period = 10, .reduction_factor = 4}), Mode::max);
  for (int id = 0; id < 4; ++id) REQUIRE(bench.train(id, 10) == 1000);

  const auto results_until_stop = [&](std::uint64_t id, int good_until) {
    int step = 0;
    double value = 20;
    do {
      ++step;
      if (step > good_until) value = 1;
    } while (bench.report(id, step, value) == Decision::proceed && step < 1000);
    return step;
  };
  CHECK(results_until_stop(10, 0) == 10);
  CHECK(results_until_stop(11, 10) == 40);
  CHECK(results_until_stop(12, 40) == 160);
}

TEST_CASE("SC-04: what passes depends on the order, the first at a rung always does", "[SC-04]") {
  const AshaOptions options{.max_t = 100, .reduction_factor = 2};
  const std::vector<bool> only_first = {true, false, false, false, false, false, false, false};
  const std::vector<bool> all(8, true);

  SchedulerBench falling(asha(options), Mode::max);
  CHECK(passes(falling, {8, 7, 6, 5, 4, 3, 2, 1}) == only_first);
  SchedulerBench rising(asha(options), Mode::max);
  CHECK(passes(rising, {1, 2, 3, 4, 5, 6, 7, 8}) == all);
  SchedulerBench falling_min(asha(options), Mode::min);
  CHECK(passes(falling_min, {-8, -7, -6, -5, -4, -3, -2, -1}) == only_first);
  SchedulerBench rising_min(asha(options), Mode::min);
  CHECK(passes(rising_min, {-1, -2, -3, -4, -5, -6, -7, -8}) == all);

  // Each of the seven that stop has one result.
  SchedulerBench whole(asha(options), Mode::max);
  CHECK(whole.train(0, 8) == 100);
  for (int value = 7; value >= 1; --value) CHECK(whole.train(8 - value, value) == 1);
}

TEST_CASE("ME-10: no trial is stopped for equalling the cut-off", "[ME-10]") {
  for (const double constant : {1.0, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    SchedulerBench bench(asha({.max_t = 27, .reduction_factor = 3}), Mode::max);
    for (int id = 0; id < 9; ++id) CHECK(bench.train(id, constant) == 27);
  }
}

TEST_CASE("values that are not finite count as worst and harm no comparison", "[asha]") {
  for (const Mode mode : {Mode::min, Mode::max}) {
    SchedulerBench bench(asha({.max_t = 9, .reduction_factor = 2}), mode);
    CHECK(passes(bench, {NAN, INFINITY, -INFINITY, 5, NAN, 5}) ==
          (mode == Mode::max ? std::vector<bool>{true, true, false, true, false, true}
                             : std::vector<bool>{true, true, true, true, false, true}));
  }
}

TEST_CASE("the places in a rung are max(1, floor(n / reduction_factor)), whole or not", "[asha]") {
  // All earlier values are better, so the last trial is stopped, and its evidence tells the places.
  const auto places = [](double factor, std::size_t n) {
    SchedulerBench bench(asha({.max_t = 100, .reduction_factor = factor}), Mode::min);
    for (std::size_t i = 0; i < n; ++i) bench.report(i, 1, static_cast<double>(i));
    const std::string text = bench.explanation(n - 1);
    const auto begin = text.find("the best ") + 9;
    return std::stoul(text.substr(begin));
  };
  CHECK(places(3, 2) == 1);
  CHECK(places(3, 5) == 1);
  CHECK(places(3, 6) == 2);
  CHECK(places(3, 9) == 3);
  CHECK(places(1.5, 2) == 1);
  CHECK(places(1.5, 3) == 2);
  CHECK(places(1.5, 8) == 5);
  CHECK(places(2.5, 5) == 2);
  CHECK(places(2.5, 9) == 3);
  CHECK(places(2.5, 10) == 4);
  CHECK(places(1.1, 11) == 10);
  CHECK(places(1.1, 10) == 9);
  CHECK(places(10, 9) == 1);
}

TEST_CASE("the next decision is announced when a trial is added and after each judgement",
          "[asha]") {
  SchedulerBench bench(asha({.max_t = 27, .grace_period = 2, .reduction_factor = 3}), Mode::max);
  bench.add(0);
  CHECK(bench.horizon(0) == 2);
  CHECK(bench.report(0, 1, 1) == Decision::proceed);
  CHECK(bench.horizon(0) == 2);
  CHECK(bench.report(0, 2, 1) == Decision::proceed);
  CHECK(bench.horizon(0) == 6);
  CHECK(bench.report(0, 7, 1) == Decision::proceed);
  CHECK(bench.horizon(0) == 18);
  CHECK(bench.report(0, 18, 1) == Decision::proceed);
  CHECK(bench.horizon(0) == 27);
  CHECK(bench.report(0, 26, -5) == Decision::proceed);
  CHECK(bench.report(0, 27, 1) == Decision::stop);
  CHECK(bench.other_requests() == 0);
}

TEST_CASE("each stop has its evidence", "[asha]") {
  SchedulerBench bench(asha({.max_t = 9, .reduction_factor = 3}), Mode::min);
  CHECK(passes(bench, {0.5, 0.4, 0.3, 0.2, 0.1}) == std::vector<bool>(5, true));
  CHECK(bench.explanation(104).empty());
  CHECK(bench.report(1, 1, 0.3) == Decision::stop);
  CHECK(bench.explanation(1) == "rung 1: 0.3 ranks 3 of 6; the best 2 go on, cut-off 0.2");
  CHECK(bench.report(104, 9, 0.1) == Decision::stop);
  CHECK(bench.explanation(104) == "reached max_t: training_iteration 9 of 9");
}

TEST_CASE("progress is measured by time_attr, results without it are not judged", "[asha]") {
  const AshaOptions options{.time_attr = "epoch", .max_t = 9, .reduction_factor = 3};
  CHECK(asha(options)->time_attr() == "epoch");
  SchedulerBench bench(asha(options), Mode::max);
  CHECK(bench.report(0, 1, 5) == Decision::proceed);
  CHECK(bench.report(1, 0.5, 4) == Decision::proceed);
  CHECK(bench.report(1, 1, 4) == Decision::stop);

  SchedulerContext context(Mode::max);
  const Trial& trial = context.add(Trial(TrialId{0}));
  const auto scheduler = asha(options);
  CHECK(scheduler->on_trial_result(context, trial, Result(1, 50)) == Decision::proceed);
}

TEST_CASE("an objective of its own wins over that of the experiment", "[asha]") {
  CHECK_FALSE(asha()->objective().has_value());
  CHECK(asha()->needs_metric());
  CHECK_FALSE(asha()->needs_checkpoints());
  const AshaOptions options{.metric = "loss", .mode = Mode::min, .max_t = 9};
  const auto objective = asha(options)->objective();
  REQUIRE(objective.has_value());
  CHECK(objective->metric == "loss");
  CHECK(objective->mode == Mode::min);
  CHECK(asha({.mode = Mode::max})->objective()->metric.empty());

  SchedulerBench bench(asha({.mode = Mode::min, .reduction_factor = 2}), Mode::max);
  CHECK(passes(bench, {8, 7, 9}) == std::vector<bool>{true, true, false});
}

TEST_CASE("several brackets are drawn by HyperBand's sizes, keyed by the trial", "[asha]") {
  // Hyperband, JMLR 2018, table 1: 81, 34, 15, 8, 5 trials for max_t 81 and factor 3.
  const AshaOptions options{.max_t = 81, .reduction_factor = 3, .brackets = 5};
  const std::map<double, double> sizes = {{1, 81}, {3, 34}, {9, 15}, {27, 8}, {81, 5}};
  SchedulerBench bench(asha(options), Mode::max, 1);
  std::map<double, int> counts;
  const int trials = 14'300;
  for (int id = 0; id < trials; ++id) {
    bench.add(id);
    ++counts[bench.horizon(id)];
  }
  for (const auto& [milestone, size] : sizes) {
    const double expected = trials * size / 143;
    CAPTURE(milestone, counts[milestone], expected);
    CHECK(std::abs(counts[milestone] - expected) < 5 * std::sqrt(expected));
  }

  SchedulerBench backwards(asha(options), Mode::max, 1);
  SchedulerBench other_seed(asha(options), Mode::max, 2);
  int differences = 0;
  for (int id = 99; id >= 0; --id) {
    backwards.add(id);
    other_seed.add(id);
    CHECK(backwards.horizon(id) == bench.horizon(id));
    if (other_seed.horizon(id) != bench.horizon(id)) ++differences;
  }
  CHECK(differences > 0);
}

TEST_CASE("brackets do not see each other's trials", "[asha]") {
  SchedulerBench bench(asha({.max_t = 9, .reduction_factor = 3, .brackets = 3}), Mode::max);
  std::set<double> seen;
  for (int id = 0; id < 100; ++id) {
    bench.add(id);
    const double first = bench.horizon(id);
    const bool is_first = seen.insert(first).second;
    // Values fall, so only the first of a bracket passes; at 9 every trial ends.
    const bool goes_on = is_first && first < 9;
    CHECK(bench.report(id, first, -id) == (goes_on ? Decision::proceed : Decision::stop));
  }
  CHECK(seen == std::set<double>{1, 3, 9});
  CHECK_THAT(bench.scheduler().describe(), Contains("bracket 0; rung 1: ") &&
                                               Contains("bracket 1; rung 3: ") &&
                                               Contains("; bracket 2"));
}

TEST_CASE("a restored state decides as the one that was saved", "[asha]") {
  const AshaOptions options{.max_t = 27, .reduction_factor = 3};
  SchedulerBench bench(asha(options), Mode::max);
  CHECK(bench.report(0, 1, NAN) == Decision::proceed);
  CHECK(bench.report(1, 1, INFINITY) == Decision::proceed);
  CHECK(bench.report(2, 1, 0.1) == Decision::proceed);
  CHECK(bench.report(2, 3, 0.5) == Decision::proceed);
  bench.add(3);
  const Json saved = bench.scheduler().save();
  CHECK(Json::parse(saved.dump()) == saved);  // as text nothing is lost
  bench.restore_into(asha(options));
  CHECK(bench.scheduler().save() == saved);

  CHECK(bench.report(2, 4, -1) == Decision::proceed);  // rung 3 was entered before
  CHECK(bench.report(0, 3, NAN) == Decision::stop);
  CHECK(bench.explanation(0) == "rung 3: nan ranks 2 of 2; the best 1 goes on, cut-off 0.5");
  CHECK(bench.report(3, 1, 0.05) == Decision::stop);
  bench.fail(1);
  bench.restore_into(asha(options));
  CHECK(bench.report(2, 27, 0) == Decision::stop);
}

TEST_CASE("a fresh state is saved and restored, and keeps no ended trials", "[asha]") {
  const auto scheduler = asha();
  const Json fresh = scheduler->save();
  CHECK_FALSE(fresh.is_null());
  CHECK_NOTHROW(scheduler->restore(fresh));

  SchedulerBench bench(asha({.max_t = 9}), Mode::max);
  for (int id = 0; id < 5; ++id) bench.add(id);
  CHECK(bench.scheduler().save().at("trials").size() == 5);
  bench.fail(0);
  bench.complete(1);
  bench.report(2, 9, 1);
  CHECK(bench.scheduler().save().at("trials").size() == 2);
}

TEST_CASE("a state of other options is refused", "[asha]") {
  SchedulerBench bench(asha({.max_t = 27, .reduction_factor = 3}), Mode::max);
  bench.report(0, 1, 1);
  CHECK_THROWS_AS(bench.restore_into(asha({.max_t = 81, .reduction_factor = 3})),
                  std::invalid_argument);
  CHECK_THROWS_WITH(bench.restore_into(asha({.max_t = 81, .reduction_factor = 3})),
                    Contains("has 3 rungs, the options make 4"));
  CHECK_THROWS_WITH(bench.restore_into(asha({.max_t = 27, .reduction_factor = 3, .brackets = 2})),
                    Contains("has 1 brackets, the options make 2"));
}

TEST_CASE("a damaged state is refused", "[asha]") {
  const auto restore = [](Json trial, Json value) {
    asha({.max_t = 3, .reduction_factor = 3})
        ->restore({{"mode", "max"},
                   {"brackets", Json::array({Json::array({Json::array({std::move(value)})})})},
                   {"trials", Json::array({std::move(trial)})}});
  };
  CHECK_NOTHROW(restore({0, 0, 1}, 0.5));
  CHECK_THROWS_WITH(restore({0, 1, 1}, 0.5), Contains("impossible trial: [0,1,1]"));
  CHECK_THROWS_WITH(restore({0, 0, 1}, "low"), Contains(R"("low", want a number)"));
}

TEST_CASE("asha is made by name from its own options", "[asha]") {
  register_builtin_schedulers();
  const auto scheduler = asha({.metric = "loss",
                               .mode = Mode::min,
                               .max_t = 27,
                               .grace_period = 2,
                               .reduction_factor = 2.5,
                               .brackets = 2});
  CHECK(scheduler->options() == Json::parse(R"({"name": "asha", "time_attr": "training_iteration",
    "metric": "loss", "mode": "min", "max_t": 27.0, "grace_period": 2.0, "reduction_factor": 2.5,
    "brackets": 2, "type": "stopping", "stop_last_trials": true})"));
  CHECK(make_scheduler("asha", scheduler->options())->options() == scheduler->options());
  CHECK(make_scheduler("asha")->options() == asha()->options());
  CHECK(make_scheduler("asha", {{"max_t", 27}})->options().at("max_t") == 27.0);

  CHECK_THROWS_AS(make_scheduler("asha", {{"eta", 3}}), std::invalid_argument);
  CHECK_THROWS_WITH(make_scheduler("asha", {{"eta", 3}}),
                    R"(asha: unknown option "eta": 3; there are: time_attr, metric, mode, max_t, )"
                    "grace_period, reduction_factor, brackets, type, stop_last_trials");
  CHECK_THROWS_WITH(make_scheduler("asha", {{"max_t", "27"}}),
                    R"(asha: max_t is "27", want a number)");
  CHECK_THROWS_WITH(make_scheduler("asha", {{"brackets", 1.5}}), Contains("brackets is 1.5"));
  CHECK_THROWS_WITH(make_scheduler("asha", {{"reduction_factor", 1}}),
                    Contains("reduction_factor must be above 1, is 1"));
}

}  // namespace
}  // namespace tune
