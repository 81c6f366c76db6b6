#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "hub_run.hpp"
#include "report/progress_tracker.hpp"

namespace tune {
namespace {

using report::ProgressTracker;
using report::RestoredTrial;
using test::HubRun;
using test::NotingCallback;
using Seconds = Progress::Seconds;

TEST_CASE("a user's callback is told of a resume, but not of old trials and results again",
          "[restore]") {
  HubRun run;
  run.run(0);
  run.report(0, {{"loss", 1.0}});
  run.complete(0);
  run.run(1);
  run.report(1, {{"loss", 1.0}});
  run.checkpoint(1, 1);
  const auto callback = std::make_shared<NotingCallback>();
  run.kill_and_resume({}, {callback});
  CHECK(callback->notes == std::vector<std::string>{"experiment start"});
  run.start(1, 1);
  run.report(1, {{"loss", 0.5}});
  run.complete(1);
  run.end();
  CHECK(callback->notes == std::vector<std::string>{"experiment start", "start 1", "result 1",
                                                    "completed 1", "experiment end"});
}

TEST_CASE("a resumed trial has the directory where the experiment is now", "[restore]") {
  struct Paths final : Callback {
    void on_trial_result(const TrialInfo& trial, const Result&) override { path = trial.path; }
    std::filesystem::path path;
  };
  HubRun run;
  run.run(0);
  const auto callback = std::make_shared<Paths>();
  run.kill_and_resume({}, {callback});
  run.report(0, {{"loss", 0.5}});
  CHECK(callback->path == run.trial_path(0));
}

TEST_CASE("records of older starts, and of trials that ended before, come too late", "[restore]") {
  HubRun run;
  run.run(0);
  run.complete(0);
  run.run(1);
  run.state(1, TrialState::pending, "", "it broke");
  run.start(1);
  const auto callback = std::make_shared<NotingCallback>();
  run.kill_and_resume({}, {callback});
  run.hub().result(TrialId(0), 1, test::make_result(1, {{"loss", 0.0}}));
  run.hub().result(TrialId(1), 1, test::make_result(1, {{"loss", 0.0}}));
  CHECK(callback->notes == std::vector<std::string>{"experiment start"});
  run.hub().result(TrialId(1), 2, test::make_result(1, {{"loss", 0.0}}));
  CHECK(callback->notes.size() == 2);
}

TEST_CASE("driver.log goes on at a resume, and experiment.json has no end until there is one",
          "[restore]") {
  HubRun run;
  run.run(0);
  run.end({0, 0, 1, "Ctrl-C", "", true});
  CHECK(Json::parse(test::file_text(run.path() / "experiment.json")).contains("end"));
  const std::string before = test::file_text(run.path() / "driver.log");
  run.kill_and_resume();
  CHECK_FALSE(Json::parse(test::file_text(run.path() / "experiment.json")).contains("end"));
  run.end({0, 0, 1, "time budget", ""});
  const std::string after = test::file_text(run.path() / "driver.log");
  CHECK(after.starts_with(before));
  CHECK(after.find("event=experiment_resumed name=experiment") != std::string::npos);
  CHECK(Json::parse(test::file_text(run.path() / "experiment.json")).at("end").at("reason") ==
        "time budget");
}

TEST_CASE("error.txt goes on, and has the last error if it was lost", "[restore]") {
  HubRun run(std::vector<std::string>{});
  run.run(0);
  run.report(0, {{"loss", 1.0}});
  run.state(0, TrialState::pending, "", "first fault");
  const bool is_lost = GENERATE(false, true);
  run.kill_and_resume([&](const std::filesystem::path& experiment) {
    if (is_lost) std::filesystem::remove_all(experiment / "00000");
  });
  run.start(0);
  run.fail(0, "second fault");
  CHECK(test::file_text(run.trial_path(0) / "error.txt") ==
        "start 1 failed after iteration 1:\nfirst fault\n\n"
        "start 2 failed after iteration 1:\nsecond fault\n\n");
}

RestoredTrial restored_trial(std::uint64_t id, TrialState state, std::int64_t iteration,
                             Metrics metrics) {
  RestoredTrial restored;
  restored.trial.id = TrialId(id);
  restored.trial.name = "trial" + std::to_string(id);
  restored.trial.incarnation = 1;
  restored.state = state;
  if (iteration > 0) restored.last = test::make_result(iteration, std::move(metrics));
  return restored;
}

ProgressTracker resumed_tracker(const report::ExpectedWork& work) {
  ProgressTracker tracker;
  ExperimentInfo experiment;
  experiment.path = "/results/run";
  experiment.objective = Objective{"acc", Mode::max};
  tracker.expect(work);
  tracker.experiment_started(experiment);
  return tracker;
}

TEST_CASE("the progress after a resume has the trials of before", "[restore]") {
  ProgressTracker tracker = resumed_tracker({});
  RestoredTrial ended = restored_trial(0, TrialState::terminated, 4, {{"acc", 0.5}});
  ended.reason = "trainable finished";
  tracker.trial_restored(ended);
  RestoredTrial failed = restored_trial(1, TrialState::error, 2, {{"acc", 0.25}});
  failed.error = "it broke\nfor good";
  tracker.trial_restored(failed);
  // The last result has no metric, but the one before had.
  RestoredTrial pending = restored_trial(2, TrialState::running, 3, {{"note", "x"}});
  pending.value = 0.75;
  tracker.trial_restored(pending);
  tracker.trial_restored(restored_trial(3, TrialState::paused, 0, {}));

  Progress progress = tracker.snapshot(Seconds(1));
  CHECK(progress.counts ==
        TrialCounts{.pending = 1, .running = 0, .paused = 1, .terminated = 1, .error = 1});
  CHECK(progress.results == 9);
  CHECK(progress.failed_starts == 1);
  REQUIRE(progress.failures.size() == 1);
  CHECK(progress.failures[0].error == "it broke");
  CHECK(progress.failures[0].path == "/results/run/trial1/error.txt");
  REQUIRE(progress.reasons.size() == 1);
  CHECK(progress.reasons[0].first == "trainable finished");
  REQUIRE(progress.best);
  CHECK(progress.best->id == TrialId(2));
  CHECK(progress.best->training_iteration == 3);
  CHECK(progress.best->time_total_s == 1.5);

  tracker.trial_restarted(TrialId(2));
  CHECK(tracker.snapshot(Seconds(2)).best->id == TrialId(0));
  TrialInfo start;
  start.id = TrialId(2);
  tracker.trial_started(start);
  tracker.result(TrialId(2), test::make_result(1, {{"acc", 0.625}}));
  progress = tracker.snapshot(Seconds(3));
  CHECK(progress.counts.running == 1);
  CHECK(progress.best->id == TrialId(2));
  CHECK(progress.results == 10);
}

TEST_CASE("the time that is left is told by the work since the resume", "[restore]") {
  ProgressTracker tracker = resumed_tracker({.trials = 10, .max_iterations = 10});
  for (std::uint64_t id = 0; id < 5; ++id) {
    tracker.trial_restored(restored_trial(id, TrialState::terminated, 10, {}));
  }
  tracker.trial_restored(restored_trial(5, TrialState::pending, 5, {}));
  CHECK(tracker.snapshot(Seconds(0)).fraction == Approx(0.55));
  CHECK_FALSE(tracker.snapshot(Seconds(1)).remaining);
  // Half a trial in ten seconds; four are left.
  tracker.trial_state(TrialId(5), TrialState::terminated, "trainable finished", "");
  const Progress progress = tracker.snapshot(Seconds(10));
  CHECK(progress.fraction == Approx(0.6));
  REQUIRE(progress.remaining);
  CHECK(progress.remaining->count() == Approx(80));
}

TEST_CASE("a hub tells its reporters of restored trials", "[restore]") {
  struct Reporter final : ProgressReporter {
    void report(const Progress& progress, bool) override { last = progress; }
    Progress last;
  };
  HubRun run;
  run.run(0);
  run.report(0, {{"loss", 1.0}});
  run.complete(0);
  run.run(1);
  run.report(1, {{"loss", 2.0}});
  const auto reporter = std::make_shared<Reporter>();
  run.kill_and_resume({}, {reporter});
  run.hub().report_progress(Seconds(0));
  CHECK(reporter->last.counts.terminated == 1);
  CHECK(reporter->last.counts.pending == 1);
  REQUIRE(reporter->last.best);
  CHECK(reporter->last.best->id == TrialId(0));
}

}  // namespace
}  // namespace tune
