// Experiments whose machine's clock is set back while they run.

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/callback.hpp>
#include <tune/fsck.hpp>
#include <tune/registry.hpp>
#include <tune/track.hpp>

#include "run_support.hpp"

namespace {

std::atomic<std::int64_t> seconds_ahead{0};

}  // namespace

// Takes the place of the C library's, for all of this program.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  if (clock == CLOCK_REALTIME && result == 0) time->tv_sec += seconds_ahead.load();
  return result;
}

namespace tune::test {
namespace {

constexpr std::int64_t one_day = 24 * 3600;

class ClockDescent final : public Descent {};
TUNE_REGISTER_TRAINABLE(ClockDescent)

/// Sets the clock back by a day at the n-th result.
class ClockSetter final : public Callback {
 public:
  explicit ClockSetter(int results) : left_(results) {}
  void on_trial_result(const TrialInfo&, const Result&) override {
    if (--left_ == 0) seconds_ahead -= one_day;
  }

 private:
  int left_;
};

ResultGrid run_with_clock_set_back(const TemporaryFolder& folder, std::int64_t samples) {
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", uniform(1, 2)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.num_samples = samples;
  experiment.stop = {{"training_iteration", 20}};
  experiment.checkpoint = {.every = 1};
  experiment.exporters = {"json", "csv", "tensorboard"};
  experiment.time_budget = std::chrono::hours(1);
  experiment.callbacks = {std::make_shared<ClockSetter>(10)};
  return tune_run<ClockDescent>(experiment);
}

TEST_CASE("a clock that is set back changes no order and no duration", "[resume][clock]") {
  seconds_ahead = 0;
  const auto now = std::chrono::system_clock::now();
  seconds_ahead = one_day;
  REQUIRE(std::chrono::system_clock::now() > now + std::chrono::hours(23));  // it is the library's
  seconds_ahead = 0;

  const TemporaryFolder folder;
  (void)run_with_clock_set_back(folder, 2);
  const std::int64_t after_first = seconds_ahead;
  CHECK(after_first == -one_day);
  // It goes on at a time before its beginning, and the clock is set back once more.
  const ResultGrid grid = run_with_clock_set_back(folder, 4);
  CHECK(seconds_ahead == -2 * one_day);
  CHECK_FALSE(grid.interrupted());
  REQUIRE(grid.size() == 4);
  for (const TrialResult& trial : grid) {
    CAPTURE(trial.id.value());
    CHECK(trial.state == TrialState::terminated);
    CHECK(iterations(trial) == counted_to(20));
    CHECK(read_lines(trial.path / "result.json").size() == 20);
    double total = 0;
    for (const Result& result : trial.history()) {
      CHECK(result.time_this_iter_s >= 0);
      CHECK(result.time_total_s >= total);
      total = result.time_total_s;
    }
    CHECK(total < 3600);
  }
  CHECK(fsck(folder.path() / "run").is_sound());
}

TEST_CASE("a run by itself goes on though the clock was set back", "[track][clock]") {
  seconds_ahead = 0;
  const TemporaryFolder folder;
  const auto report_three = [&] {
    track::init({.name = "run", .storage_path = folder.path().string()});
    for (int i = 0; i < 3; ++i) {
      track::report({{"x", i}});
      seconds_ahead -= one_day;
    }
    track::finish();
  };
  report_three();
  report_three();
  const TrialResult trial = ResultGrid::open(folder.path() / "run")[0];
  CHECK(iterations(trial) == counted_to(6));
  double total = 0;
  for (const Result& result : trial.history()) {
    CHECK(result.time_total_s >= total);
    total = result.time_total_s;
  }
  CHECK(total < 3600);
  CHECK(fsck(folder.path() / "run").is_sound());
}

}  // namespace
}  // namespace tune::test
