// Training code and programs that do what they may, and what one does not expect.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/track.hpp>
#include <tune/tune_run.hpp>

#include "process_experiment.hpp"
#include "search_of_its_own.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

void report_once(const Config&) { track::report({{"x", 1}}); }

TEST_CASE("a program that ignores SIGCHLD has its workers' ends told", "[odd_programs]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.num_samples = 3;
  experiment.reuse_workers = false;
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  const ResultGrid results = tune_run(report_once, experiment);
  ::signal(SIGCHLD, before);
  REQUIRE(results.size() == 3);
  CHECK(results.errors().empty());
}

TEST_CASE("a worker that has joined another process group is killed all the same",
          "[odd_programs]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.step_timeout = std::chrono::seconds(1);
  const ResultGrid results = tune_run(
      [](const Config&) {
        const pid_t child = ::fork();
        if (child == 0) {
          while (true) ::pause();
        }
        ::setpgid(child, child);
        ::setpgid(0, child);
        while (true) ::pause();
      },
      experiment);
  CHECK_THAT(results[0].error, Contains("step_timeout"));
}

TEST_CASE("each trial begins where the program was started", "[odd_programs]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.num_samples = 2;
  experiment.max_concurrent = 1;
  const ResultGrid results = tune_run(
      [](const Config&) {
        track::report({{"directory", fs::current_path().string()}});
        fs::current_path("/");
      },
      experiment);
  for (const TrialResult& trial : results) {
    CHECK(trial.metrics.at("directory") == MetricValue(fs::current_path().string()));
  }
}

TEST_CASE("a result that is too long fails its trial and says so", "[odd_programs]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.space = {{"bytes", grid_search({10, 70'000'000})}};
  const ResultGrid results = tune_run(
      [](const Config& config) {
        const auto bytes = config["bytes"].get<std::int64_t>();
        track::report({{"text", std::string(static_cast<std::size_t>(bytes), 'x')}});
      },
      experiment);
  CHECK(results[0].state == TrialState::terminated);
  CHECK(results[1].state == TrialState::error);
  CHECK_THAT(results[1].error, Contains("too long") && Contains("67108864 are allowed"));
}

/// Leaves a process behind, which has left group and session, and tells its number.
void leave_a_daemon(const Config&) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return;
  if (::fork() == 0) {
    ::setsid();
    const pid_t daemon = ::fork();
    if (daemon == 0) {
      while (true) ::pause();
    }
    [[maybe_unused]] const auto written = ::write(ends[1], &daemon, sizeof daemon);
    ::_exit(0);
  }
  ::wait(nullptr);
  pid_t daemon = 0;
  [[maybe_unused]] const auto read = ::read(ends[0], &daemon, sizeof daemon);
  track::report({{"daemon", static_cast<std::int64_t>(daemon)}});
}

TEST_CASE("FA-11: what a trial leaves behind is gone before the next one in its place", "[FA-11]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.num_samples = 2;
  experiment.max_concurrent = 1;
  const SearchMark mark(folder.path());
  const ResultGrid results = tune_run(leave_a_daemon, experiment);
  CHECK(results.errors().empty());
  CHECK_FALSE(results[0].metrics.at("daemon") == results[1].metrics.at("daemon"));
  std::vector<pid_t> left = descendants_of_search(folder.path());
  std::erase(left, ::getpid());
  CHECK(left.empty());
}

TEST_CASE("RA-01: what a trial's own child processes report is not among its results", "[RA-01]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  const ResultGrid results = tune_run(
      [](const Config&) {
        for (int rank = 1; rank < 4; ++rank) {
          if (::fork() != 0) continue;
          for (int i = 0; i < 5; ++i) track::report({{"rank", rank}});
          ::_exit(0);
        }
        for (int i = 0; i < 5; ++i) track::report({{"rank", 0}});
        for (int rank = 1; rank < 4; ++rank) ::wait(nullptr);
      },
      experiment);
  CHECK(results[0].state == TrialState::terminated);
  CHECK(iterations(results[0]) == counted_to(5));
  for (const Result& result : results[0].history()) {
    CHECK(result.metrics.at("rank") == MetricValue(0));
  }
}

TEST_CASE("a worker that cannot be killed costs its slot, and not the search", "[odd_programs]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.local = {.cpus = 1};
  experiment.step_timeout = std::chrono::seconds(1);
  // The guardian, its parent, is stopped: it kills nobody, and tells of nobody's end.
  const ResultGrid results = tune_run(
      [](const Config&) {
        ::kill(::getppid(), SIGSTOP);
        while (true) ::pause();
      },
      experiment);
  CHECK(results[0].state == TrialState::error);
  CHECK_THAT(results[0].error, Contains("step_timeout") && Contains("after SIGKILL"));
}

/// Kills the guardian process, its parent, in the second step of its first start.
class KillsTheGuardian : public Descent {
 public:
  Metrics step() override {
    if (++steps_ == 2 && context().incarnation == 1) {
      ::kill(::getppid(), SIGKILL);
      while (true) ::pause();
    }
    return Descent::step();
  }

 private:
  int steps_ = 0;
};

TEST_CASE("a guardian that is killed costs its trials a start", "[odd_programs]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.space = {{"x", constant(1.0)}};
  experiment.stop = {{"training_iteration", 4}};
  experiment.checkpoint.every = 1;
  experiment.failure.max_failures = 1;
  const ResultGrid results = tune_run<KillsTheGuardian>(experiment);
  CHECK(results[0].state == TrialState::terminated);
  CHECK(iterations(results[0]) == counted_to(4));
}

}  // namespace
}  // namespace tune::test
