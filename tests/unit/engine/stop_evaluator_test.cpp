#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/stop.hpp>

#include "engine_bench.hpp"

#include "support/limits.hpp"

namespace tune::engine {
namespace {

using Values = std::vector<double>;

EngineOptions stopping(StopCriteria stop, Mode mode = Mode::min) {
  EngineOptions options = minimise_loss();
  options.objective->mode = mode;
  options.stop = std::move(stop);
  return options;
}

/// Some trials on slots of their own, from the first event on.
class Trials {
 public:
  explicit Trials(StopCriteria stop, std::uint64_t count = 1, Mode mode = Mode::min)
      : Trials(stopping(std::move(stop), mode), count) {}
  Trials(EngineOptions options, std::uint64_t count) : bench(std::move(options)) {
    bench.join(0, static_cast<double>(count));
    for (std::uint64_t trial = 0; trial < count; ++trial) bench.suggest(trial);
  }

  /// The next result of a trial. True if something was stopped at it.
  bool report(std::uint64_t trial, Metrics metrics) {
    if (trial >= iterations_.size()) iterations_.resize(trial + 1);
    bench.report(trial, ++iterations_[trial], std::move(metrics));
    return !bench.given<Stop>().empty();
  }
  bool report(std::uint64_t trial, double loss) { return report(trial, {{"loss", loss}}); }
  /// The trial goes on after that iteration.
  void go_back_to(std::uint64_t trial, std::int64_t iteration) {
    iterations_.at(trial) = iteration;
  }

  EngineBench bench;

 private:
  std::vector<std::int64_t> iterations_;
};

/// The iteration at which a trial with these losses is stopped; 0 if it is not.
std::int64_t stopped_at(StopCriteria stop, const Values& losses) {
  Trials trials(std::move(stop));
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (trials.report(0, losses[i])) return static_cast<std::int64_t>(i) + 1;
  }
  return 0;
}

// --- a trial's plateau

TEST_CASE("a plateau stops a trial at the result that settles its last values",
          "[stop_evaluator]") {
  CHECK(stopped_at(plateau(), {1, 0.5, 0.5, 0.5, 0.5, 0.5}) == 5);
  CHECK(stopped_at(plateau({.num_results = 3, .grace_period = 0}), {1, 0.5, 0.5, 0.5}) == 4);
  CHECK(stopped_at(plateau({.num_results = 2, .grace_period = 0}), {1, 1}) == 2);
  CHECK(stopped_at(plateau(), {1, 2, 1, 2, 1, 2}) == 0);
  CHECK(stopped_at(plateau({.num_results = 5, .grace_period = 0}), {1, 1, 1, 1}) == 0);
}

TEST_CASE("a plateau's deviation must be below its std", "[stop_evaluator]") {
  const Values losses = {0, 0.5, 0, 0.5};  // deviate by 0.25
  CHECK(stopped_at(plateau({.std = 0.25}), losses) == 0);
  CHECK(stopped_at(plateau({.std = 0.2501}), losses) == 4);
}

TEST_CASE("a plateau is not judged before its grace period", "[stop_evaluator]") {
  const Values losses(10, 1.0);
  CHECK(stopped_at(plateau({.num_results = 3, .grace_period = 7}), losses) == 7);
  CHECK(stopped_at(plateau({.num_results = 7, .grace_period = 3}), losses) == 7);
}

TEST_CASE("a window with a value that is not finite has not settled", "[stop_evaluator]") {
  const auto rule = plateau({.num_results = 3, .grace_period = 3});
  CHECK(stopped_at(rule, {1, 1, test::nan, 1, 1, 1, 1}) == 6);
  CHECK(stopped_at(rule, {1, test::inf, 1, 1, 1}) == 5);
  CHECK(stopped_at(rule, {-test::inf, -test::inf, -test::inf, -test::inf}) == 0);
}

TEST_CASE("a plateau passes over results without its metric", "[stop_evaluator]") {
  Trials trials(plateau({.metric = "gap", .num_results = 3, .grace_period = 3}));
  CHECK_FALSE(trials.report(0, {{"loss", 1.0}, {"gap", 2}}));
  CHECK_FALSE(trials.report(0, {{"loss", 1.0}}));
  CHECK_FALSE(trials.report(0, {{"loss", 1.0}, {"gap", "none"}}));
  CHECK_FALSE(trials.report(0, {{"loss", 2.0}, {"gap", 2}}));
  CHECK(trials.report(0, {{"loss", 3.0}, {"gap", 2}}));
  trials.bench.end(0, EndKind::stopped);
  CHECK(trials.bench.state(0).state == TrialState::terminated);
  CHECK(trials.bench.state(0).reason == "stop criterion: plateau");
}

TEST_CASE("each trial has a plateau of its own", "[stop_evaluator]") {
  Trials trials(plateau({.num_results = 2, .grace_period = 2}), 2);
  CHECK_FALSE(trials.report(0, 1));
  CHECK_FALSE(trials.report(1, 1));
  CHECK_FALSE(trials.report(1, 2));
  CHECK(trials.report(0, 1));
  CHECK(trials.bench.given<Stop>().at(0).trial == TrialId{0});
  CHECK(trials.report(1, 2));
}

TEST_CASE("values that a retry reports again count once", "[stop_evaluator]") {
  const bool has_checkpoint = GENERATE(true, false);
  CAPTURE(has_checkpoint);
  EngineOptions options = stopping(plateau({.num_results = 3, .grace_period = 0}));
  options.max_failures = 1;
  Trials trials(options, 1);
  CHECK_FALSE(trials.report(0, 9));
  CHECK_FALSE(trials.report(0, 0.5));
  if (has_checkpoint) trials.bench.store(0, 2);
  CHECK_FALSE(trials.report(0, 0.5));
  trials.bench.end(0, EndKind::failed);
  REQUIRE(trials.bench.given<Launch>().size() == 1);
  trials.go_back_to(0, has_checkpoint ? 2 : 0);
  if (!has_checkpoint) {
    CHECK_FALSE(trials.report(0, 9));
    CHECK_FALSE(trials.report(0, 0.5));
  }
  CHECK_FALSE(trials.report(0, 0.5));
  CHECK(trials.report(0, 0.5));
}

// --- the experiment's plateau

TEST_CASE("an experiment's plateau looks at the best value of each trial", "[stop_evaluator]") {
  Trials trials(experiment_plateau({.std = 0.01, .top = 2}), 3);
  CHECK_FALSE(trials.report(0, 0.5));
  CHECK_FALSE(trials.report(0, 0.5));  // of one trial alone nothing can be said
  CHECK_FALSE(trials.report(1, 0.8));
  CHECK_FALSE(trials.report(2, 0.8));  // equal, but not the best two
  CHECK(trials.report(1, 0.505));
  CHECK(trials.bench.given<Stop>().size() == 3);
  for (const std::uint64_t trial : {0, 1, 2}) trials.bench.end(trial, EndKind::stopped);
  CHECK(trials.bench.state(2).reason == "experiment plateau");
  REQUIRE(trials.bench.ever<Finish>().size() == 1);
  CHECK(trials.bench.ever<Finish>().at(0).end.reason == "experiment plateau");
}

TEST_CASE("an experiment has settled at most its std apart", "[stop_evaluator]") {
  for (const auto& [std, ends] : {std::pair(0.25, true), std::pair(0.2499, false)}) {
    Trials trials(experiment_plateau({.std = std, .top = 2}), 2);
    CHECK_FALSE(trials.report(0, 0.5));
    CHECK(trials.report(1, 1.0) == ends);
  }
}

TEST_CASE("an experiment that maximises settles by its largest values", "[stop_evaluator]") {
  Trials trials(experiment_plateau({.std = 0.01, .top = 2}), 3, Mode::max);
  CHECK_FALSE(trials.report(0, 0.9));
  CHECK_FALSE(trials.report(1, 0.1));
  CHECK_FALSE(trials.report(2, 0.1));
  CHECK_FALSE(trials.report(0, 0.1));  // the best of trial 0 stays
  CHECK(trials.report(2, 0.9));
}

TEST_CASE("an experiment's plateau on another metric ranks by its own mode", "[stop_evaluator]") {
  Trials trials(experiment_plateau({.metric = "gap", .mode = Mode::min, .std = 0.01, .top = 2}), 4,
                Mode::max);
  const auto report = [&trials](std::uint64_t trial, double gap) {
    return trials.report(trial, {{"loss", 1.0}, {"gap", gap}});
  };
  CHECK_FALSE(report(0, 0.1));
  CHECK_FALSE(report(1, 0.5));
  CHECK_FALSE(report(2, 9));
  CHECK_FALSE(report(3, 9));  // the two worst agree
  CHECK(report(1, 0.1));
}

TEST_CASE("an experiment's plateau needs a metric and its mode", "[stop_evaluator]") {
  const auto make = [](const ExperimentPlateauOptions& plateau, bool has_objective) {
    EngineOptions options = stopping(experiment_plateau(plateau), Mode::max);
    if (!has_objective) options.objective.reset();
    EngineBench bench(std::move(options));
  };
  CHECK_NOTHROW(make({}, true));
  CHECK_NOTHROW(make({.metric = "loss"}, true));
  CHECK_NOTHROW(make({.mode = Mode::max}, true));
  CHECK_NOTHROW(make({.metric = "gap", .mode = Mode::min}, true));
  CHECK_NOTHROW(make({.metric = "gap", .mode = Mode::min}, false));
  CHECK_THROWS_AS(make({.metric = "gap"}, true), std::invalid_argument);
  for (const bool has_objective : {true, false}) {
    CHECK_THROWS_WITH(make({.metric = "gap"}, has_objective),
                      R"(stop: experiment_plateau looks at "gap", for which it needs a mode of )"
                      "its own: set mode to tune::Mode::min or tune::Mode::max");
  }
  CHECK_THROWS_WITH(make({.mode = Mode::min}, true),
                    R"(stop: experiment_plateau has metric "loss" with mode min, but the )"
                    "experiment has it with mode max");
  CHECK_THROWS_WITH(make({.mode = Mode::min}, false),
                    "stop: a plateau needs a metric: name one in its options or in the experiment");
}

TEST_CASE("an experiment's plateau must hold for its patience, in a row", "[stop_evaluator]") {
  Trials trials(experiment_plateau({.std = 0.01, .top = 2, .patience = 2}), 2);
  CHECK_FALSE(trials.report(0, 0.5));
  CHECK_FALSE(trials.report(1, 0.5));
  CHECK_FALSE(trials.report(1, 0.7));
  CHECK_FALSE(trials.report(1, 0.1));  // a new best: from the beginning
  CHECK_FALSE(trials.report(0, 0.1));
  CHECK_FALSE(trials.report(0, 0.1));
  CHECK(trials.report(0, 0.3));
}

TEST_CASE("a result without the metric is no evidence that an experiment has settled",
          "[stop_evaluator]") {
  Trials trials(experiment_plateau({.std = 0.01, .top = 2, .patience = 1}), 2);
  CHECK_FALSE(trials.report(0, 0.5));
  CHECK_FALSE(trials.report(1, 0.5));
  CHECK_FALSE(trials.report(1, {{"other", 1}}));
  CHECK(trials.report(1, 0.5));
}

TEST_CASE("values that are not finite are no best values", "[stop_evaluator]") {
  Trials trials(experiment_plateau({.std = 0.01, .top = 2}), 3);
  CHECK_FALSE(trials.report(0, 0.5));
  CHECK_FALSE(trials.report(1, test::nan));
  CHECK_FALSE(trials.report(1, -test::inf));
  CHECK_FALSE(trials.report(2, test::inf));
  CHECK(trials.report(2, 0.5));
}

TEST_CASE("trials that have ended or failed keep their place among the best", "[stop_evaluator]") {
  const EndKind kind = GENERATE(EndKind::finished, EndKind::failed);
  Trials trials(experiment_plateau({.std = 0.01, .top = 2}), 2);
  CHECK_FALSE(trials.report(0, 0.5));
  trials.bench.end(0, kind);
  CHECK(trials.report(1, 0.5));
}

TEST_CASE("a retry's results count once for the patience of an experiment", "[stop_evaluator]") {
  EngineOptions options = stopping(experiment_plateau({.std = 0.01, .top = 2, .patience = 1}));
  options.max_failures = 1;
  Trials trials(options, 2);
  CHECK_FALSE(trials.report(0, 0.5));
  CHECK_FALSE(trials.report(1, 0.5));
  trials.bench.end(1, EndKind::failed);
  trials.go_back_to(1, 0);
  CHECK_FALSE(trials.report(1, 0.5));
  CHECK(trials.report(1, 0.5));
}

// --- bounds, and several rules

TEST_CASE("a value that is not finite meets no bound", "[stop_evaluator]") {
  // Waiting after each result, and with the bounds known to the trial.
  const bool is_asked = GENERATE(true, false);
  CAPTURE(is_asked);
  StopCriteria rules = StopCriteria{{"accuracy", 0.9}, {"low", -test::inf}} | below("loss", 0.1);
  if (is_asked) rules = rules | stop_when([](const Trial&, const Result&) { return false; });
  Trials trials(rules);
  CHECK_FALSE(trials.report(0, {{"loss", 1.0}, {"accuracy", test::inf}}));
  CHECK_FALSE(trials.report(0, {{"loss", -test::inf}, {"accuracy", test::nan}}));
  CHECK_FALSE(trials.report(0, {{"loss", 1.0}, {"low", -test::inf}}));
  CHECK(trials.report(0, {{"loss", 0.1}, {"accuracy", test::inf}}));
  trials.bench.end(0, EndKind::stopped);
  CHECK(trials.bench.state(0).reason == "stop criterion loss <= 0.1");
}

TEST_CASE("any of several rules stops a trial, and the first of them is the reason",
          "[stop_evaluator]") {
  int asked = 0;
  const auto count = [&asked](const Trial&, const Result&) { return ++asked == 3; };
  const StopCriteria rules = plateau({.num_results = 2, .grace_period = 0}) |
                             plateau({.metric = "gap", .num_results = 3, .grace_period = 0}) |
                             StopCriteria{{"training_iteration", 3}} | stop_when(count);
  const auto reason = [&](const std::vector<Metrics>& results) {
    asked = 0;
    Trials trials(rules);
    for (std::size_t i = 0; i < results.size(); ++i) {
      CHECK(trials.report(0, results[i]) == (i + 1 == results.size()));
    }
    CHECK(asked == static_cast<int>(results.size()));
    trials.bench.end(0, EndKind::stopped);
    return trials.bench.state(0).reason;
  };
  CHECK(reason({{{"loss", 1.0}}, {{"loss", 1.0}}}) == "stop criterion: plateau");
  CHECK(reason({{{"loss", 1.0}}, {{"loss", 2.0}}, {{"loss", 3.0}}}) ==
        "stop criterion training_iteration >= 3");
  CHECK(reason({{{"loss", 1.0}, {"gap", 1}},
                {{"loss", 2.0}, {"gap", 1}},
                {{"loss", 3.0}, {"gap", 1}}}) == "stop criterion: plateau");
}

TEST_CASE("one result may end its trial and the experiment", "[stop_evaluator]") {
  Trials trials(below("loss", 0.5) | experiment_plateau({.std = 0.01, .top = 2}), 3);
  CHECK(trials.report(0, 0.5));
  CHECK(trials.report(1, 0.5));
  for (const std::uint64_t trial : {0, 1, 2}) trials.bench.end(trial, EndKind::stopped);
  REQUIRE(trials.bench.ever<Finish>().size() == 1);
  CHECK(trials.bench.ever<Finish>().at(0).end.reason == "experiment plateau");
  CHECK(trials.bench.state(0).reason == "stop criterion loss <= 0.5");
}

}  // namespace
}  // namespace tune::engine
