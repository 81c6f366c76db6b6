#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/result_grid.hpp>
#include <tune/track.hpp>
#include <tune/tune_run.hpp>

#include "run_support.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr TrialId the_one_that_fails{2};

/// Of the one clock that all processes of a machine share.
Clock::time_point time_of(const std::string& line) {
  return Clock::time_point(Clock::duration(std::stoll(line)));
}

/// Fails at step 3, or trains in step 4 until it is told to stop.
class FailsOrWaits final : public Descent {
 public:
  Metrics step() override {
    ++step_;
    if (context().trial_id == the_one_that_fails && step_ == 3) throw std::runtime_error("boom");
    while (step_ == 4 && !context().should_stop()) std::this_thread::yield();
    return Descent::step();
  }

 private:
  int step_ = 0;
};

Experiment four_at_once(const TemporaryFolder& folder) {
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.num_samples = 8;
  experiment.max_concurrent = 4;
  experiment.local = {.cpus = 4};
  experiment.failure.fail_fast = true;
  return experiment;
}

TEST_CASE("FA-05: fail_fast leaves the others unfinished, with all that a resume needs",
          "[FA-05]") {
  const TemporaryFolder folder;
  Experiment experiment = four_at_once(folder);
  experiment.checkpoint.every = 1;
  experiment.exporters = {"json"};
  const ResultGrid results = tune_run<FailsOrWaits>(experiment);
  CHECK(results.interrupted());
  CHECK(results.experiment_end().reason == "trial 2 failed, and fail_fast is set");
  CHECK(results.experiment_end().unfinished_trials + 1 ==
        static_cast<std::int64_t>(results.size()));
  const ResultGrid reopened = ResultGrid::open(results.path());
  CHECK(reopened.interrupted());
  for (const ResultGrid* grid : {&results, &reopened}) {
    for (const TrialResult& trial : *grid) {
      if (trial.id == the_one_that_fails) {
        CHECK(trial.state == TrialState::error);
        continue;
      }
      CHECK(trial.reason == "interrupted: trial 2 failed, and fail_fast is set");
      REQUIRE(trial.state == TrialState::paused);
      REQUIRE(trial.checkpoint);
      // Where it was when it was told.
      CHECK(trial.checkpoint->training_iteration == trial.training_iteration);
      CHECK(iterations(trial) == counted_to(trial.training_iteration));
    }
  }
}

void report_and_wait(const Config&) {
  track::report({{"loss", 1}}, [](const fs::path& dir) { std::ofstream(dir / "state") << 1; });
  if (track::context().trial_id == the_one_that_fails) throw std::runtime_error("boom");
  while (!track::context().should_stop()) std::this_thread::yield();
}

TUNE_REGISTER_FUNCTION(report_and_wait, {.checkpoints = true})

TEST_CASE("FA-05: a train function that returns when it should stop is left unfinished",
          "[FA-05]") {
  const TemporaryFolder folder;
  Experiment experiment = four_at_once(folder);
  const ResultGrid results = tune_run(report_and_wait, experiment);
  CHECK(results.interrupted());
  for (const TrialResult& trial : results) {
    if (trial.id == the_one_that_fails) continue;
    CHECK(trial.state != TrialState::terminated);
    CHECK((trial.state == TrialState::paused) == (trial.training_iteration == 1));
  }
}

TEST_CASE("max_experiment_failures bears so many errors", "[failures]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.num_samples = 20;
  experiment.max_concurrent = 1;
  experiment.failure.max_experiment_failures = 4;
  const ResultGrid results = tune_run(
      [](const Config&) {
        if (track::context().trial_id.value() % 2 == 1) throw std::runtime_error("boom");
        track::report({{"loss", 1}});
      },
      experiment);
  CHECK(results.interrupted());
  CHECK(results.errors().size() == 5);
  CHECK(results.size() == 10);
}

TEST_CASE("FA-03: a retry waits for its pause, and others run meanwhile", "[FA-03]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.num_samples = 2;
  experiment.max_concurrent = 1;
  experiment.failure.max_failures = 2;
  experiment.failure.retry_pause = std::chrono::milliseconds(50);
  const ResultGrid results = tune_run(
      [](const Config&) {
        const TrialContext& context = track::context();
        add_line(context.trial_dir / "starts",
                 std::to_string(Clock::now().time_since_epoch().count()));
        if (context.trial_id == TrialId{0} && context.incarnation < 3) {
          throw std::runtime_error("boom");
        }
        track::report({{"loss", 1}});
      },
      experiment);
  std::vector<Clock::time_point> starts;
  for (const std::string& line : read_lines(results[0].path / "starts")) {
    starts.push_back(time_of(line));
  }
  REQUIRE(starts.size() == 3);
  CHECK(starts[1] - starts[0] >= std::chrono::milliseconds(50));
  CHECK(starts[2] - starts[1] >= std::chrono::milliseconds(100));
  const std::vector<std::string> other_starts = read_lines(results[1].path / "starts");
  REQUIRE(other_starts.size() == 1);
  CHECK(time_of(other_starts[0]) > starts[0]);
  CHECK(time_of(other_starts[0]) < starts[1]);
  CHECK(results.experiment_end().terminated_trials == 2);
}

}  // namespace
}  // namespace tune::test
