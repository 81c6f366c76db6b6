#include <tune/schedulers/median_stopping.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/random.hpp>
#include <tune/registry.hpp>
#include <tune/schedulers/builtin.hpp>

#include "support/limits.hpp"
#include "support/scheduler_bench.hpp"

namespace tune {
namespace {

using Catch::Contains;
using test::SchedulerBench;

MedianStoppingOptions by_iteration(double grace_period, std::int64_t min_samples) {
  return {.time_attr = "training_iteration",
          .grace_period = grace_period,
          .min_samples_required = min_samples};
}

TEST_CASE("SC-10: spikes before the grace period do not enter the averages", "[SC-10]") {
  for (const Mode mode : {Mode::min, Mode::max}) {
    const double sign = mode == Mode::min ? 1 : -1;
    SchedulerBench bench(median_stopping(by_iteration(5, 3)), mode);
    std::map<int, int> ended_at;
    for (int step = 1; step <= 10; ++step) {
      for (int id = 0; id < 5; ++id) {
        if (ended_at.contains(id)) continue;
        const double value = step == 1 ? 1e6 : id == 4 ? 2.0 : 1.0;
        if (bench.report(id, step, sign * value) == Decision::stop) ended_at[id] = step;
      }
    }
    CHECK(ended_at == std::map<int, int>{{4, 5}});
    if (mode == Mode::min) {
      CHECK(bench.explanation(4) ==
            "best value 2 is worse than 1, the median of the running averages of 4 others up to "
            "training_iteration 5");
    }
  }
}

TEST_CASE("SC-11: only others that have a value at that time count, ended or not", "[SC-11]") {
  SchedulerBench bench(median_stopping(by_iteration(1, 2)), Mode::min);
  bench.report(0, 0, 4);
  bench.report(0, 1, 2);
  bench.report(1, 0, 3);
  bench.report(2, 0, 4);
  CHECK(bench.report(2, 1, 3) == Decision::proceed);
  CHECK(bench.report(2, 2, 1) == Decision::proceed);
  bench.complete(0);
  bench.report(1, 1, 1);
  bench.fail(1);
  CHECK(bench.report(3, 1, 9) == Decision::stop);  // both are gone, their values stay
}

// The steps that six trials side by side made, a value of the last in step 3 given.
std::vector<int> steps_side_by_side(double third_of_last) {
  const std::vector<double> values = {1.0, 1.1, 1.2, 1.3, 0.5, 0.4};
  SchedulerBench bench(median_stopping(by_iteration(2, 3)), Mode::min);
  std::vector<int> steps(values.size(), 0);
  for (int step = 1; step <= 10; ++step) {
    // Those that are to be stopped come last, so that they have others to be compared with.
    for (const std::size_t id : {1U, 0U, 4U, 5U, 2U, 3U}) {
      if (steps[id] != step - 1) continue;  // it was stopped
      const bool is_it = id == 5 && step == 3;
      const Decision decision = bench.report(id, step, is_it ? third_of_last : values[id]);
      steps[id] = step;
      if (decision == Decision::stop) steps[id] = -step;
    }
  }
  return steps;
}

TEST_CASE("ME-01: NaN from one trial does not poison the averages of others", "[ME-01]") {
  const std::vector<int> steps = steps_side_by_side(test::nan);
  for (const std::size_t id : {0U, 4U, 5U}) CHECK(steps[id] == 10);
  for (const std::size_t id : {2U, 3U}) CHECK(steps[id] < 0);
  CHECK(steps == steps_side_by_side(0.4));
}

TEST_CASE("Vizier paper, section 3.2.2: the best value against the median of running averages",
          "[median_stopping]") {
  SchedulerBench bench(median_stopping(by_iteration(1, 3)), Mode::max);
  const std::vector<std::vector<double>> curves = {{1, 2, 3}, {2, 4, 6}, {3, 6, 9}};
  for (int step = 1; step <= 3; ++step) {
    for (int id = 0; id < 3; ++id) bench.report(id, step, curves[id][step - 1]);
  }
  // Averages up to step 3: 2, 4, 6.
  bench.report(7, 1, 2.5);
  CHECK(bench.report(7, 2, 3) == Decision::proceed);  // the median of 1.5, 3, 4.5; equal is enough
  CHECK(bench.report(7, 3, 3.9) == Decision::stop);
  CHECK(bench.explanation(7) ==
        "best value 3.9 is worse than 4, the median of the running averages of 3 others up to "
        "training_iteration 3");
  // Now four others: 2, 4, 6 and (2.5 + 3 + 3.9) / 3 at step 3; the middle two are taken together.
  bench.report(8, 1, 9);
  CHECK(bench.report(8, 3, 0) == Decision::proceed);
  CHECK(bench.report(9, 3, 3.5) == Decision::stop);
  CHECK_THAT(bench.explanation(9), Contains("the running averages of 5 others"));
}

// The rule as it reads, with all results at hand.
class NaiveMedian {
 public:
  NaiveMedian(Mode mode, double grace, std::size_t samples)
      : mode_(mode), grace_(grace), samples_(samples) {}

  bool stops(std::uint64_t id, double time, double value) {
    results_[id].emplace_back(time, value);
    if (time < grace_) return false;
    const double step = std::floor(time);
    std::vector<double> averages;
    double best = worst_value();
    for (const auto& [t, v] : results_[id]) {
      if (std::isfinite(v) && is_better(mode_, v, best)) best = v;
    }
    for (const auto& [other, results] : results_) {
      if (other == id || results.back().first < step) continue;
      double sum = 0;
      double count = 0;
      bool has_begun = false;
      for (const auto& [t, v] : results) {
        if (t < grace_ || t > step) continue;
        has_begun = true;
        if (!std::isfinite(v)) continue;
        sum += v;
        ++count;
      }
      if (has_begun) averages.push_back(count > 0 ? sum / count : worst_value());
    }
    if (averages.size() < samples_) return false;
    std::sort(averages.begin(), averages.end(),
              [this](double a, double b) { return is_better(mode_, a, b); });
    const std::size_t n = averages.size();
    const double median =
        n % 2 == 1 ? averages[n / 2] : (averages[n / 2 - 1] + averages[n / 2]) / 2;
    return is_better(mode_, median, best);
  }

 private:
  Mode mode_;
  double grace_;
  std::size_t samples_;
  std::map<std::uint64_t, std::vector<std::pair<double, double>>> results_;
};

TEST_CASE(
    "median stopping decides as a naive reference, times that jump and values that are not "
    "finite included",
    "[median_stopping]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Random random(seed, "median");
    const Mode mode = random.below(2) == 0 ? Mode::min : Mode::max;
    MedianStoppingOptions options = by_iteration(static_cast<double>(random.below(4)),
                                                 1 + static_cast<std::int64_t>(random.below(4)));
    options.time_attr = "epoch";
    SchedulerBench bench(median_stopping(options), mode);
    NaiveMedian naive(mode, options.grace_period,
                      static_cast<std::size_t>(options.min_samples_required));
    std::map<std::uint64_t, double> times;
    std::uint64_t added = 0;
    for (int i = 0; i < 150; ++i) {
      if (random.below(20) == 0) bench.restore_into(median_stopping(options));
      if (times.size() < 5) times[added++] = 0;
      const auto place =
          std::next(times.begin(), static_cast<std::ptrdiff_t>(random.below(times.size())));
      double& time = place->second;
      // In halves, so that sums are exact.
      time += random.below(4) == 0 ? static_cast<double>(random.below(8)) + 0.5 : 1;
      double value = static_cast<double>(random.below(64)) / 4;
      if (random.below(10) == 0) value = random.below(2) == 0 ? test::nan : test::inf;
      const bool stops = naive.stops(place->first, time, value);
      const Decision decision = bench.report(place->first, time, value);
      REQUIRE((decision == Decision::stop) == stops);
      if (stops) times.erase(place);
    }
  }
}

TEST_CASE("one bad value spoils nobody's average, and a trial with no other is worst",
          "[median_stopping]") {
  SchedulerBench bench(median_stopping(by_iteration(1, 3)), Mode::min);
  for (int id = 0; id < 3; ++id) bench.report(id, 1, id == 0 ? test::nan : 1);
  for (int id = 0; id < 3; ++id) REQUIRE(bench.report(id, 2, 1) == Decision::proceed);
  CHECK(bench.report(5, 2, test::nan) == Decision::stop);
  CHECK(bench.report(6, 2, -test::inf) == Decision::stop);
  CHECK(bench.report(7, 2, 1) == Decision::proceed);
}

TEST_CASE("a trial whose time counts in millions passes few steps", "[median_stopping]") {
  SchedulerBench bench(median_stopping({.time_attr = "samples", .grace_period = 1000}), Mode::max);
  for (int id = 0; id < 4; ++id) {
    for (double time = 4000; time < 4e6; time *= 1.5) bench.report(id, time + id, id);
  }
  CHECK(bench.scheduler().save().at("averages").size() < 256 * 12);
  CHECK(bench.report(9, 3e6, -1) == Decision::stop);
}

TEST_CASE("nothing is decided before the grace period", "[median_stopping]") {
  SchedulerBench bench(median_stopping(by_iteration(4, 1)), Mode::max);
  bench.add(0);
  CHECK(bench.horizon(0) == 4);
  for (int step = 1; step <= 4; ++step) bench.report(0, step, 5);
  for (int step = 1; step <= 3; ++step) CHECK(bench.report(1, step, 0) == Decision::proceed);
  CHECK(bench.report(1, 4, 0) == Decision::stop);
  CHECK(bench.other_requests() == 0);
}

TEST_CASE("without hard_stop a trial pauses, runs again as the last, and is not judged again",
          "[median_stopping]") {
  MedianStoppingOptions options = by_iteration(1, 1);
  options.hard_stop = false;
  CHECK(median_stopping(options)->needs_checkpoints());
  CHECK_FALSE(median_stopping(by_iteration(1, 1))->needs_checkpoints());
  SchedulerContext context(Mode::max);
  context.set_new_trials(NewTrials::none);
  const auto scheduler = median_stopping(options);
  const Trial& good = context.add(Trial(TrialId{0}));
  const Trial& bad = context.add(Trial(TrialId{1}));
  scheduler->on_trial_added(context, good);
  scheduler->on_trial_added(context, bad);
  CHECK(scheduler->on_trial_result(context, good, Result(5, 1)) == Decision::proceed);
  CHECK(scheduler->on_trial_result(context, bad, Result(1, 1)) == Decision::pause);
  context.set_state(TrialId{0}, TrialState::running);
  context.set_state(TrialId{1}, TrialState::running);
  CHECK(scheduler->choose_trial_to_run(context) == std::nullopt);  // it is being saved
  context.set_state(TrialId{1}, TrialState::paused);
  context.set_new_trials(NewTrials::possible);
  CHECK(scheduler->choose_trial_to_run(context) == std::nullopt);
  context.set_new_trials(NewTrials::none);
  CHECK(scheduler->choose_trial_to_run(context) == TrialId{1});
  const auto restored = median_stopping(options);
  restored->restore(Json::parse(scheduler->save().dump()));
  CHECK(restored->choose_trial_to_run(context) == TrialId{1});
  CHECK(restored->on_trial_result(context, bad, Result(0, 2)) == Decision::proceed);
  CHECK(restored->choose_trial_to_run(context) == std::nullopt);
}

TEST_CASE("with a time slice a trial without others to compare with gives way",
          "[median_stopping]") {
  MedianStoppingOptions options = by_iteration(1, 2);
  options.min_time_slice = 2;
  CHECK(median_stopping(options)->needs_checkpoints());
  SchedulerContext context(Mode::max);
  context.set_new_trials(NewTrials::none);
  const auto scheduler = median_stopping(options);
  const Trial& first = context.add(Trial(TrialId{0}));
  scheduler->on_trial_added(context, first);
  context.set_state(TrialId{0}, TrialState::running);
  CHECK(scheduler->on_trial_result(context, first, Result(5, 2)) == Decision::proceed);
  context.set_new_trials(NewTrials::possible);
  CHECK(scheduler->on_trial_result(context, first, Result(5, 3)) == Decision::pause);
  context.set_state(TrialId{0}, TrialState::paused);
  CHECK(scheduler->choose_trial_to_run(context) == std::nullopt);  // a new one before it
  context.set_new_trials(NewTrials::none);
  CHECK(scheduler->choose_trial_to_run(context) == TrialId{0});
}

TEST_CASE("median stopping: a state goes through text and keeps deciding", "[median_stopping]") {
  SchedulerBench bench(median_stopping(by_iteration(1, 2)), Mode::min);
  CHECK_NOTHROW(median_stopping()->restore(median_stopping()->save()));
  bench.report(0, 1, test::nan);
  bench.report(1, 1, 0.1);
  bench.report(2, 1, 0.3);
  const Json saved = bench.scheduler().save();
  bench.restore_into(median_stopping(by_iteration(1, 2)));
  CHECK(bench.scheduler().save() == saved);
  CHECK(bench.report(3, 1, 0.5) == Decision::stop);
}

TEST_CASE("median stopping refuses options that cannot work", "[median_stopping]") {
  CHECK_THROWS_WITH(median_stopping({.time_attr = ""}), Contains("time_attr"));
  CHECK_THROWS_WITH(median_stopping({.metric = "loss"}), Contains("so mode must be"));
  CHECK_THROWS_WITH(median_stopping({.grace_period = -1}),
                    "median_stopping: grace_period must be at least 0, is -1");
  CHECK_THROWS_AS(median_stopping({.grace_period = test::nan}), std::invalid_argument);
  CHECK_THROWS_WITH(median_stopping({.min_samples_required = 0}),
                    "median_stopping: min_samples_required must be at least 1, is 0");
  CHECK_THROWS_WITH(median_stopping({.min_time_slice = -1}), Contains("min_time_slice"));
}

TEST_CASE("median stopping is made by name, with its options", "[median_stopping]") {
  register_builtin_schedulers();
  const Json given = {{"time_attr", "epoch"},     {"metric", "loss"},   {"mode", "min"},
                      {"grace_period", 2.0},      {"hard_stop", false}, {"min_time_slice", 3.0},
                      {"min_samples_required", 5}};
  Json options = make_scheduler("median_stopping", given)->options();
  CHECK(options.at("name") == "median_stopping");
  options.erase("name");
  CHECK(options == given);
  CHECK(median_stopping()->time_attr() == "time_total_s");
  CHECK_THROWS_WITH(make_scheduler("median_stopping", {{"graceperiod", 1}}),
                    Contains("graceperiod"));
}

}  // namespace
}  // namespace tune
