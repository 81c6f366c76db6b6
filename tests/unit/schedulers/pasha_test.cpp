#include <tune/schedulers/pasha.hpp>

#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/schedulers/builtin.hpp>

#include "schedulers/soft_ranking.hpp"
#include "support/scheduler_bench.hpp"

namespace tune {
namespace {

using Catch::Contains;
using schedulers::criss_cross_distance;
using schedulers::SoftRanking;
using test::SchedulerBench;

constexpr auto nobody = std::nullopt;

PashaOptions up_to(double max_t, double reduction_factor = 2) {
  return {.max_t = max_t, .reduction_factor = reduction_factor};
}

// Trials `first` to `last` come to the first rung, each worse than the one before; all wait.
void fill_first_rung(SchedulerBench& bench, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t id = first; id <= last; ++id) {
    REQUIRE(bench.report(id, 1, 20 - static_cast<double>(id)) == Decision::pause);
  }
}

TEST_CASE("SC-01: pasha refuses options that cannot work with their numbers", "[SC-01][pasha]") {
  CHECK_THROWS_WITH(pasha({.max_t = 5, .grace_period = 10}),
                    "pasha: max_t must be at least grace_period, which is 10, is 5");
  CHECK_THROWS_WITH(pasha({.reduction_factor = 1}), Contains("reduction_factor must be above 1"));
  CHECK_THROWS_WITH(pasha({.reduction_factor = 0.5}), Contains("is 0.5"));
  CHECK_THROWS_WITH(pasha({.grace_period = 0}), "pasha: grace_period must be above 0, is 0");
  CHECK_THROWS_WITH(pasha({.max_t = NAN}), Contains("is nan"));
  CHECK_THROWS_WITH(pasha({.time_attr = ""}), Contains("time_attr"));
  CHECK_THROWS_WITH(pasha({.metric = "loss"}), Contains("metric is loss, so mode must be"));
  CHECK_THROWS_WITH(pasha({.ranking_criterion = "rbo"}),
                    Contains("one of soft_ranking_auto, soft_ranking, soft_ranking_std") &&
                        Contains(R"(is "rbo")"));
  CHECK_THROWS_WITH(pasha({.epsilon = -1}), "pasha: epsilon must be at least 0, is -1");
  CHECK_THROWS_WITH(pasha({.epsilon_scaling = NAN}), Contains("epsilon_scaling"));
  CHECK_THROWS_WITH(pasha({.percentile = 101}), Contains("percentile must be from 0 to 100"));
  CHECK_THROWS_WITH(pasha({.ranked_trials = 1}), Contains("ranked_trials must be at least 2"));
  CHECK_THROWS_AS(pasha({.reduction_factor = 1.000001}), std::invalid_argument);
}

TEST_CASE("SC-01: pasha with a grace period as long as the training pauses nobody",
          "[SC-01][pasha]") {
  SchedulerBench bench(pasha({.max_t = 5, .grace_period = 5}), Mode::max);
  CHECK_FALSE(bench.scheduler().needs_checkpoints());
  for (int id = 0; id < 10; ++id) CHECK(bench.train(id, -id) == 5);
}

TEST_CASE("pasha promotes the best of a rung when it is among 1 of reduction_factor", "[pasha]") {
  SchedulerBench bench(pasha(up_to(64)), Mode::max);
  fill_first_rung(bench, 0, 0);
  CHECK(bench.explanation(0) == "rung 1: 20 is not among the best 0 of 1");
  CHECK(bench.choose() == nobody);
  fill_first_rung(bench, 1, 1);
  CHECK(bench.choose() == 0);
  CHECK(bench.horizon(0) == 2);
  CHECK(bench.explanation(0) == "promoted to 2: rung 1: 20 is among the best 1 of 2, cut-off 20");
  CHECK(bench.choose() == nobody);  // nobody is promoted twice from a rung
  fill_first_rung(bench, 2, 3);
  CHECK(bench.choose() == 1);
}

TEST_CASE("pasha lets a trial go on that the slot would be given back to", "[pasha]") {
  SchedulerBench bench(pasha(up_to(64)), Mode::max);
  fill_first_rung(bench, 1, 1);
  CHECK(bench.report(0, 1, 25) == Decision::proceed);
  CHECK(bench.horizon(0) == 2);
  CHECK(bench.choose() == nobody);
  // A better one that waits has the slot first.
  fill_first_rung(bench, 2, 2);
  REQUIRE(bench.report(3, 1, 24) == Decision::proceed);
  fill_first_rung(bench, 4, 5);  // now 1 is among the best three of six
  CHECK(bench.report(6, 1, 18.5) == Decision::pause);
  CHECK(bench.choose() == 1);
}

TEST_CASE("pasha breaks equal values by trial id", "[pasha]") {
  SchedulerBench bench(pasha(up_to(64)), Mode::min);
  for (const int id : {1, 2, 3, 4}) REQUIRE(bench.report(id, 1, 7) == Decision::pause);
  CHECK(bench.choose() == 1);
  CHECK(bench.choose() == 2);
  CHECK(bench.choose() == nobody);
}

TEST_CASE("pasha keeps trials below the second milestone while the ranking is stable", "[pasha]") {
  SchedulerBench bench(pasha(up_to(64)), Mode::max);
  fill_first_rung(bench, 0, 15);
  for (std::uint64_t id = 0; id < 8; ++id) {
    REQUIRE(bench.choose() == id);
    CHECK(bench.report(id, 2, 100 - static_cast<double>(id)) == Decision::pause);
    CHECK_THAT(bench.explanation(id), Contains("this rung is the top, for now"));
  }
  CHECK(bench.choose() == nobody);
  CHECK_THAT(bench.scheduler().describe(), Contains("pasha up to 2 of 64"));
}

TEST_CASE("pasha opens a milestone when the top two rungs rank otherwise", "[pasha]") {
  SchedulerBench bench(pasha(up_to(64)), Mode::max);
  fill_first_rung(bench, 0, 7);
  REQUIRE(bench.choose() == 0);
  REQUIRE(bench.choose() == 1);
  REQUIRE(bench.report(0, 2, 10) == Decision::pause);
  // It passes trial 0, so it is the best of two there, and 4 is open to it at once.
  CHECK(bench.report(1, 2, 11) == Decision::proceed);
  CHECK(bench.explanation(1) ==
        "opens 4: trial 1 is number 1 of 2 at the top with 19 below, where number 1 has 20; "
        "epsilon is 0");
  CHECK(bench.horizon(1) == 4);
  CHECK_THAT(bench.scheduler().describe(), Contains("pasha up to 4 of 64"));
  // One that comes to the rung that was the top changes nothing any more.
  REQUIRE(bench.choose() == 2);
  CHECK(bench.report(2, 2, 9) == Decision::pause);
  CHECK_THAT(bench.scheduler().describe(), Contains("pasha up to 4 of 64"));
}

TEST_CASE("pasha stops at max_t and opens nothing beyond it", "[pasha]") {
  SchedulerBench bench(pasha(up_to(5)), Mode::max);  // milestones 1, 2, 4 and 5
  CHECK(bench.report(0, 30, 7) == Decision::stop);
  CHECK(bench.explanation(0) == "reached max_t: training_iteration 30 of 5");
  CHECK_THAT(bench.scheduler().describe(), Contains("rung 4: 1 value"));
}

TEST_CASE(
    "SC-02: PASHA takes a trial that jumps over rungs into each, and lets it wait in the highest",
    "[SC-02][pasha]") {
  SchedulerBench bench(pasha(up_to(64)), Mode::max);
  CHECK(bench.report(0, 5, 1) == Decision::pause);
  CHECK(bench.explanation(0) ==
        "rung 4: 1 is not among the best 0 of 1; this rung is the top, for now");
  CHECK(bench.scheduler().describe() ==
        "pasha up to 2 of 64, epsilon 0; rung 1: 1 value, 0 wait; rung 2: 1 value, 0 wait; "
        "rung 4: 1 value, 1 waits; rung 8: 0 values, 0 wait; rung 16: 0 values, 0 wait; "
        "rung 32: 0 values, 0 wait");
}

TEST_CASE("a trial that failed counts in its rung and is never promoted", "[pasha]") {
  SchedulerBench bench(pasha(up_to(64)), Mode::max);
  fill_first_rung(bench, 0, 1);
  bench.fail(0);
  CHECK(bench.choose() == nobody);  // place 1 of 1 is trial 0's
  fill_first_rung(bench, 2, 3);
  CHECK(bench.choose() == 1);
}

TEST_CASE("ME-10: values that are not finite count as worst in pasha", "[ME-10][pasha]") {
  SchedulerBench bench(pasha(up_to(64)), Mode::min);
  REQUIRE(bench.report(0, 1, NAN) == Decision::pause);
  REQUIRE(bench.report(1, 1, INFINITY) == Decision::proceed);  // better than NaN
  REQUIRE(bench.report(2, 1, -INFINITY) == Decision::proceed);
  REQUIRE(bench.report(3, 1, 1e9) == Decision::proceed);
  CHECK(bench.choose() == nobody);
}

TEST_CASE("SC-19: pasha remembers across a restore", "[SC-19][pasha]") {
  for (int cut = 0; cut < 12; ++cut) {
    INFO("restored before step " << cut);
    SchedulerBench bench(pasha(up_to(64)), Mode::max);
    int step = 0;
    const auto next = [&] {
      if (step++ == cut) bench.restore_into(pasha(up_to(64)));
    };
    for (std::uint64_t id = 0; id < 8; ++id) {
      next();
      REQUIRE(bench.report(id, 1, id == 6 ? NAN : -static_cast<double>(id)) == Decision::pause);
    }
    next();
    REQUIRE(bench.choose() == 0);
    next();
    REQUIRE(bench.choose() == 1);
    next();
    REQUIRE(bench.report(0, 2, 10) == Decision::pause);
    next();
    REQUIRE(bench.report(1, 2, 11) == Decision::proceed);
    REQUIRE(bench.choose() == 2);
  }
}

TEST_CASE("a trial that ended and goes on enters no rung again that it was in", "[pasha]") {
  SchedulerBench bench(pasha(up_to(64)), Mode::max);
  REQUIRE(bench.report(0, 1, 1) == Decision::pause);
  bench.complete(0);
  SchedulerContext context(Mode::max);
  Trial again(TrialId{0});
  again.add_result(Result(1, 1));
  const auto scheduler = pasha(up_to(64));
  scheduler->restore(bench.scheduler().save());
  scheduler->on_trial_added(context, context.add(std::move(again)));
  const auto requests = context.take_requests();
  REQUIRE(requests.size() == 1);
  CHECK(std::get<DecisionHorizon>(requests[0]).time == 2);
}

TEST_CASE("a state of other options is refused by pasha", "[pasha]") {
  SchedulerBench bench(pasha(up_to(64)), Mode::max);
  bench.report(0, 1, 1);
  CHECK_THROWS_WITH(bench.restore_into(pasha(up_to(16))),
                    Contains("has 6 rungs, the options make 4"));
}

TEST_CASE("pasha is made by name from its own options", "[pasha]") {
  register_builtin_schedulers();
  const auto scheduler = pasha({.metric = "loss",
                                .mode = Mode::min,
                                .max_t = 27,
                                .ranking_criterion = "soft_ranking",
                                .epsilon = 0.025});
  CHECK(make_scheduler("pasha", scheduler->options())->options() == scheduler->options());
  CHECK(make_scheduler("pasha")->options() == pasha()->options());
  CHECK_THROWS_WITH(make_scheduler("pasha", {{"brackets", 3}}), Contains("unknown option"));
}

// --- section 4.2: soft ranking

SoftRanking ranking_of(const PashaOptions& options, const std::vector<double>& below,
                       const std::vector<double>& top) {
  SoftRanking ranking(options, Mode::max);
  for (std::size_t i = 0; i < below.size(); ++i) {
    ranking.enter({.id = TrialId{i}, .below = below[i], .top = top[i], .curve = {}});
  }
  return ranking;
}

bool is_stable(double epsilon, const std::vector<double>& below, const std::vector<double>& top) {
  const PashaOptions options{.ranking_criterion = "soft_ranking", .epsilon = epsilon};
  return ranking_of(options, below, top).instability().empty();
}

TEST_CASE("section 4.2: places within epsilon count as the same", "[pasha]") {
  CHECK(is_stable(0, {0.9, 0.8, 0.7}, {0.95, 0.9, 0.85}));
  CHECK_FALSE(is_stable(0, {0.9, 0.8, 0.7}, {0.95, 0.85, 0.9}));
  CHECK(is_stable(0.11, {0.9, 0.8, 0.7}, {0.95, 0.85, 0.9}));
  CHECK_FALSE(is_stable(0.11, {0.9, 0.8, 0.7}, {0.85, 0.9, 0.95}));  // 0.9 and 0.7 swapped
  CHECK(is_stable(0.21, {0.9, 0.8, 0.7}, {0.85, 0.9, 0.95}));
  CHECK(is_stable(0, {0.9}, {0.1}));
  CHECK(is_stable(0, {0.5, 0.5, 0.5}, {1, 3, 2}));  // equal below: any order
  CHECK(is_stable(0, {1, NAN, NAN}, {3, 1, 2}));
  CHECK_FALSE(is_stable(10, {1, NAN}, {1, 2}));
}

TEST_CASE("appendix: epsilon may follow the spread of the values", "[pasha]") {
  const std::vector<double> below = {1, 2, 4};
  const auto epsilon = [&](const std::string& criterion, double scaling) {
    return ranking_of({.ranking_criterion = criterion, .epsilon_scaling = scaling}, below, below)
        .epsilon();
  };
  CHECK(epsilon("soft_ranking_mean_dst", 1) == Approx(2));
  CHECK(epsilon("soft_ranking_median_dst", 1) == Approx(2));
  CHECK(epsilon("soft_ranking_std", 2) == Approx(2 * std::sqrt(14.0 / 9)));
}

// --- section 4.3: estimation of epsilon

TEST_CASE("section 4.3: only pairs that swap and swap back tell of noise", "[pasha]") {
  const schedulers::LearningCurve flat = {{1, 5}, {2, 5}, {3, 5}};
  const auto distance = [&](double first, double second, double third) {
    return criss_cross_distance({{1, first}, {2, second}, {3, third}}, flat, Mode::max);
  };
  CHECK(distance(6, 4, 5.5) == 0.5);
  CHECK(distance(4, 6, 3) == 2);
  CHECK_FALSE(distance(4, 4, 6).has_value());  // it overtook, and stayed there
  CHECK_FALSE(distance(6, 6, 6).has_value());
  CHECK_FALSE(distance(6, 5, 6).has_value());  // equal is no swap
  CHECK_FALSE(distance(6, 4, NAN).has_value());
  // Times that one of them lacks do not count.
  CHECK_FALSE(criss_cross_distance({{1, 6}, {2.5, 4}, {3, 6}}, flat, Mode::max).has_value());
}

TEST_CASE("section 4.3: epsilon is the percentile of the distances", "[pasha]") {
  CHECK(schedulers::percentile({4, 1, 3, 2}, 90) == Approx(3.7));
  CHECK(schedulers::percentile({7}, 90) == 7);
  CHECK(schedulers::percentile({2, 1}, 50) == 1.5);
  CHECK(schedulers::percentile({2, 1}, 100) == 2);

  SoftRanking ranking(PashaOptions{}, Mode::max);
  ranking.enter({.id = TrialId{0}, .below = 5, .top = 5, .curve = {{1, 5}, {2, 5}, {3, 5}}});
  CHECK(ranking.epsilon() == 0);
  ranking.enter({.id = TrialId{1}, .below = 4, .top = 5.5, .curve = {{1, 6}, {2, 4}, {3, 5.5}}});
  CHECK(ranking.epsilon() == 0.5);
  CHECK_FALSE(ranking.instability().empty());  // 1 apart
  ranking.enter({.id = TrialId{2}, .below = 4, .top = 3.5, .curve = {{1, 6}, {2, 5.5}, {3, 3.5}}});
  CHECK(ranking.epsilon() == 0.5);  // trial 2 has fallen behind both for good
  SoftRanking restored(PashaOptions{}, Mode::max);
  restored.restore(Json::parse(ranking.save().dump()));
  CHECK(restored.save() == ranking.save());
  ranking.begin_anew();
  CHECK(ranking.epsilon() == 0.5);  // until there is a new one
  CHECK(ranking.size() == 0);
}

TEST_CASE("pasha with noise estimated stays below the milestone that exact ranks open", "[pasha]") {
  // Two good trials whose curves criss-cross far apart, and two that swap by less.
  const auto highest = [](const std::string& criterion) {
    PashaOptions options = up_to(64);
    options.grace_period = 3;
    options.ranking_criterion = criterion;
    SchedulerBench bench(pasha(options), Mode::max);
    const std::vector<std::vector<double>> curves = {
        {5, 7, 5.2, 5, 7, 5}, {6, 6, 5.1, 6, 6, 6.1}, {0, 0, 0}, {0, 0, 0}};
    for (std::uint64_t id = 4; id-- > 0;) {
      for (double t = 1; t <= 3; ++t) {
        (void)bench.report(id, t, curves[id][static_cast<std::size_t>(t) - 1]);
      }
    }
    for (const std::uint64_t id : {0U, 1U}) {
      for (double t = 4; t <= 6; ++t) {
        (void)bench.report(id, t, curves[id][static_cast<std::size_t>(t) - 1]);
      }
    }
    return bench.scheduler().describe().substr(0, 14);
  };
  CHECK(highest("soft_ranking") == "pasha up to 12");
  CHECK(highest("soft_ranking_auto") == "pasha up to 6 ");
}

TEST_CASE("pasha ranks no more than the best ranked_trials of the top rung", "[pasha]") {
  SoftRanking ranking({.ranking_criterion = "soft_ranking", .ranked_trials = 2}, Mode::max);
  ranking.enter({.id = TrialId{0}, .below = 3, .top = 3, .curve = {}});
  ranking.enter({.id = TrialId{1}, .below = 2, .top = 2, .curve = {}});
  ranking.enter({.id = TrialId{2}, .below = 9, .top = 1, .curve = {}});  // the worst now
  CHECK(ranking.size() == 2);
  CHECK(ranking.instability().empty());
}

}  // namespace
}  // namespace tune
