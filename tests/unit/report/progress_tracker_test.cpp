#include "report/progress_tracker.hpp"

#include <cmath>
#include <cstdint>
#include <string>

#include <catch2/catch.hpp>

namespace tune::report {
namespace {

using Seconds = Progress::Seconds;

/// An experiment that maximises "acc", told record by record.
class TrackedRun {
 public:
  explicit TrackedRun(const ExpectedWork& work = {}, bool has_metric = true) {
    ExperimentInfo experiment;
    experiment.name = "run";
    experiment.path = "/results/run";
    if (has_metric) experiment.objective = Objective{"acc", Mode::max};
    tracker.expect(work);
    tracker.experiment_started(experiment);
  }
  void add(std::uint64_t id) {
    tracker.trial_added(TrialId(id), "trial" + std::to_string(id), Config(Json{{"x", id}}));
  }
  void start(std::uint64_t id) {
    TrialInfo trial;
    trial.id = TrialId(id);
    trial.config = Config(Json{{"x", id}});
    tracker.trial_started(trial);
  }
  void run(std::uint64_t id) {
    add(id);
    start(id);
  }
  void report(std::uint64_t id, std::int64_t iteration, Metrics metrics) {
    Result result;
    result.training_iteration = iteration;
    result.time_total_s = static_cast<double>(iteration);
    result.metrics = std::move(metrics);
    tracker.result(TrialId(id), result);
  }
  void state(std::uint64_t id, TrialState state, const std::string& reason,
             const std::string& error = {}) {
    tracker.trial_state(TrialId(id), state, reason, error);
  }
  void complete(std::uint64_t id) { state(id, TrialState::terminated, "trainable finished"); }
  [[nodiscard]] Progress at(double seconds) { return tracker.snapshot(Seconds(seconds)); }

  ProgressTracker tracker;
};

TEST_CASE("trials are counted by state", "[progress_tracker]") {
  TrackedRun run;
  for (std::uint64_t id = 0; id < 5; ++id) run.add(id);
  for (std::uint64_t id = 0; id < 4; ++id) run.start(id);
  run.state(0, TrialState::paused, "paused by test");
  run.complete(1);
  run.state(2, TrialState::error, "failed", "on purpose");
  CHECK(run.at(1).counts ==
        TrialCounts{.pending = 1, .running = 1, .paused = 1, .terminated = 1, .error = 1});
  run.start(0);
  run.state(3, TrialState::pending, "failed 1 time, goes back", "on purpose");
  const Progress progress = run.at(2);
  CHECK(progress.counts ==
        TrialCounts{.pending = 2, .running = 1, .paused = 0, .terminated = 1, .error = 1});
  CHECK(progress.failed_starts == 2);
  REQUIRE(progress.rows.size() == 1);
  CHECK(progress.rows[0].id == TrialId(0));
  // Records of a trial that ended, or never was, change nothing.
  run.start(1);
  run.complete(17);
  CHECK(run.at(3).counts == progress.counts);
}

TEST_CASE("the best is the trial whose last value is best", "[progress_tracker]") {
  TrackedRun run;
  for (std::uint64_t id = 0; id < 4; ++id) run.run(id);
  CHECK_FALSE(run.at(0).best);
  run.report(0, 1, {{"acc", NAN}});
  CHECK_FALSE(run.at(1).best);
  run.report(1, 1, {{"acc", 0.5}});
  run.report(2, 1, {{"acc", 0.5}});
  CHECK(run.at(2).best->id == TrialId(1));  // a tie
  run.report(2, 2, {{"acc", 0.9}, {"loss", 1.0}});
  run.complete(2);
  REQUIRE(run.at(3).best);
  CHECK(run.at(3).best->id == TrialId(2));
  CHECK(run.at(3).best->training_iteration == 2);
  CHECK(run.at(3).best->metrics.contains("loss"));
  run.report(1, 2, {{"acc", 0.95}});
  CHECK(run.at(4).best->id == TrialId(1));
  run.report(1, 3, {{"acc", 0.1}});  // it has become worse
  CHECK(run.at(5).best->id == TrialId(2));
  run.report(1, 4, {{"loss", 0.1}});  // without the metric the last value stays
  CHECK(run.at(6).rows[1].value == 0.1);
  run.report(3, 1, {{"acc", INFINITY}});
  run.state(3, TrialState::error, "failed", "");
  CHECK(run.at(7).best->id == TrialId(2));
}

TEST_CASE("without a metric there is no best", "[progress_tracker]") {
  TrackedRun run({}, false);
  run.run(0);
  run.report(0, 1, {{"acc", 0.5}});
  CHECK_FALSE(run.at(1).best);
  CHECK(run.at(1).rows.at(0).metrics.size() == 1);
}

TEST_CASE("a snapshot is small, however many trials", "[progress_tracker]") {
  TrackedRun run({.trials = 20'000});
  for (std::uint64_t id = 0; id < 20'000; ++id) {
    run.run(id);
    run.report(id, 1, {{"acc", static_cast<double>(id)}});
    if (id < 5000) run.complete(id);
    if (id >= 5000 && id < 10'000) {
      run.state(id, TrialState::error, "failed", "fault\n" + std::string(100'000, 'x'));
    }
    if (id >= 10'000 && id < 15'000) {
      run.state(id, TrialState::terminated, "reason " + std::to_string(id));
    }
  }
  const Progress progress = run.at(100);
  CHECK(progress.counts.running == 5000);
  CHECK(progress.rows.size() == ProgressTracker::max_rows);
  CHECK(progress.rows[0].id == TrialId(15'000));
  CHECK(progress.failures.size() == ProgressTracker::max_failures);
  CHECK(progress.failures.back().id == TrialId(9999));
  CHECK(progress.failures.back().error == "fault");
  CHECK(progress.failures.back().path == "/results/run/trial9999/error.txt");
  CHECK(progress.reasons.size() <= ProgressTracker::max_reasons);
  CHECK(progress.reasons.at(0).second == 5000);
  CHECK(progress.results == 20'000);
  CHECK(progress.best->id == TrialId(19'999));
  CHECK(*progress.fraction == Approx(0.75));
}

TEST_CASE("the expected time follows the work that is done", "[progress_tracker]") {
  TrackedRun run({.trials = 4});
  run.run(0);
  CHECK(*run.at(10).fraction == 0);
  CHECK_FALSE(run.at(10).remaining);
  run.complete(0);
  CHECK(run.at(20).remaining->count() == Approx(60));
  CHECK(run.at(50).remaining->count() == Approx(30));
  CHECK_FALSE(run.at(90).remaining);  // later than expected
  run.run(1);
  run.complete(1);
  CHECK(run.at(100).remaining->count() == Approx(100));
  run.tracker.experiment_ended({});
  CHECK_FALSE(run.at(101).remaining);
}

TEST_CASE("iterations count as work where their bound is known", "[progress_tracker]") {
  TrackedRun run({.trials = 2, .max_iterations = 10});
  run.run(0);
  run.report(0, 5, {{"acc", 0.5}});
  CHECK(*run.at(10).fraction == Approx(0.25));
  CHECK(run.at(10).remaining->count() == Approx(30));
  run.report(0, 20, {{"acc", 0.5}});
  CHECK(*run.at(20).fraction == Approx(0.5));
}

TEST_CASE("a time budget bounds the expected time", "[progress_tracker]") {
  TrackedRun run({.time_budget = Seconds(100)});
  run.run(0);
  CHECK(*run.at(25).fraction == Approx(0.25));
  CHECK(run.at(25).remaining->count() == Approx(75));
  TrackedRun both({.trials = 1000, .time_budget = Seconds(100)});
  both.run(0);
  both.complete(0);
  CHECK(both.at(10).remaining->count() == Approx(90));
}

}  // namespace
}  // namespace tune::report
