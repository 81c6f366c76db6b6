#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/result_grid.hpp>

#include "program_run.hpp"
#include "run_support.hpp"
#include "track_programs.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

/// How a run looks whose end is recorded.
void check_ended(const fs::path& run, std::int64_t iterations_done) {
  const ResultGrid results = ResultGrid::open(run);
  REQUIRE(results.size() == 1);
  CHECK(results[0].state == TrialState::terminated);
  CHECK(results[0].reason == "the program ended");
  CHECK(iterations(results[0]) == counted_to(iterations_done));
  CHECK(results.experiment_end().terminated_trials == 1);
}

/// How a run looks that was cut off.
void check_cut_off(const fs::path& run, std::int64_t iterations_done) {
  const ResultGrid results = ResultGrid::open(run);
  REQUIRE(results.size() == 1);
  CHECK(results[0].state == TrialState::running);
  CHECK(iterations(results[0]) == counted_to(iterations_done));
  CHECK(results.experiment_end().terminated_trials == 0);
}

TEST_CASE("track needs no set-up: a run starts by itself and ends with the program", "[track]") {
  TrackPrograms programs;
  fs::path storage = programs.storage();
  std::unique_ptr<ProgramRun> program;
  SECTION("below the home directory") { program = programs.start("report"); }
  SECTION("where the environment says") {
    storage = programs.home() / "elsewhere";
    program = programs.start("report_elsewhere", storage.string());
  }
  CHECK(program->wait() == 0);
  std::vector<fs::path> runs;
  for (const auto& entry : fs::directory_iterator(storage)) runs.push_back(entry.path());
  REQUIRE(runs.size() == 1);
  check_ended(runs[0], 3);
  CHECK_THAT(runs[0].filename().string(), Catch::StartsWith("track_program_"));
  CHECK_THAT(read_text(program->error_file()),
             Contains("tune: run " + runs[0].filename().string() + " in " + runs[0].string()));
}

TEST_CASE("a run outside an experiment ends well however the program ends", "[track]") {
  TrackPrograms programs;
  SECTION("by exit") {
    CHECK(programs.start("exit")->wait() == 7);
    check_ended(programs.only_run(), 3);
  }
  SECTION("while its own objects still report") {
    CHECK(programs.start("report_late")->wait() == 0);
    check_ended(programs.only_run(), 2);
  }
  SECTION("by exit within a writer") {
    CHECK(programs.start("exit_in_writer")->wait() == 0);
    check_ended(programs.only_run(), 1);
  }
}

TEST_CASE("a thread that still reports does not disturb the end of the program", "[track]") {
  TrackPrograms programs;
  CHECK(programs.start("detach")->wait() == 0);
  const ResultGrid results = ResultGrid::open(programs.only_run());
  CHECK(results[0].state == TrialState::terminated);
  CHECK(iterations(results[0]) == counted_to(results[0].training_iteration));
}

TEST_CASE("an exception that ends the program leaves what was reported", "[track]") {
  TrackPrograms programs;
  const auto program = programs.start("fail");
  CHECK(program->wait() == -SIGABRT);
  CHECK_THAT(read_text(program->error_file()), Contains("out of cheese"));
  check_cut_off(programs.only_run(), 3);
}

TEST_CASE("a program that is killed loses nothing that it has reported", "[track]") {
  for (int last = 1; last <= 20; ++last) {
    TrackPrograms programs;
    const auto program = programs.start("report_for_ever");
    for (int i = 1; i <= last; ++i) REQUIRE(program->read_line() == std::to_string(i));
    program->kill();
    CHECK(program->wait() == -SIGKILL);
    const fs::path run = programs.only_run();
    const TrialResult trial = ResultGrid::open(run)[0];
    CHECK(trial.training_iteration >= last);
    check_cut_off(run, trial.training_iteration);
    for (const Result& result : trial.history()) {
      CHECK(result.metrics.at("i") == MetricValue(result.training_iteration));
    }
    REQUIRE(trial.checkpoint);
    CHECK(trial.checkpoint->training_iteration >= last - 1);
    // A checkpoint that was being deleted may be gone by now: the newest never is.
    CHECK(read_text(trial.checkpoint->path / "state") ==
          std::to_string(trial.checkpoint->training_iteration) + '\n');
  }
}

TEST_CASE("a process that was forked has a run of its own or none", "[track]") {
  TrackPrograms programs;
  const auto program = programs.start("fork");
  CHECK_THAT(program->read_line(),
             Contains("track::report") && Contains("was forked") && Contains("track::init()"));
  CHECK(program->read_line() == "parent goes on");
  CHECK(program->wait() == 0);
  check_ended(programs.storage() / "child", 1);
  for (const auto& entry : fs::directory_iterator(programs.storage())) {
    if (entry.path().filename() != "child") check_cut_off(entry.path(), 2);
  }
}

TEST_CASE("a storage path that cannot be used is an error at each track call", "[track]") {
  TrackPrograms programs;
  std::ofstream(programs.storage()) << "a file";
  const auto program = programs.start("report_nowhere");
  for (int i = 0; i < 2; ++i) {
    CHECK_THAT(program->read_line(),
               Contains(programs.storage().string()) && Contains("Not a directory"));
  }
  CHECK(program->wait() == 0);
}

TEST_CASE("when the storage fails each later report is an error", "[track]") {
  TrackPrograms programs;
  const auto program = programs.start("fill_the_disk");
  const std::int64_t failed = std::stoll(program->read_line());
  CHECK(failed > 1);
  CHECK(failed < 1000);
  const fs::path run = programs.only_run();
  // The journal is the first to be too large.
  for (const char* what : {"records no more", "is not recorded to its end"}) {
    const std::string line = program->read_line();
    CHECK_THAT(line, Contains(run.string()) && Contains("experiment.db: cannot write"));
    CHECK_THAT(line, Contains("File too large") || Contains("disk I/O error"));
    CHECK_THAT(line, Contains(what));
  }
  CHECK(program->wait() == 0);
  // Files fill up at different times: what is there is whole.
  const std::vector<std::int64_t> recorded = iterations(ResultGrid::open(run)[0]);
  CHECK(recorded.size() >= static_cast<std::size_t>(failed - 1));
  CHECK(recorded == counted_to(static_cast<std::int64_t>(recorded.size())));
}

TEST_CASE("of several programs that want one name only one at a time has it", "[track]") {
  for (int round = 0; round < 10; ++round) {
    TrackPrograms programs;
    std::vector<std::unique_ptr<ProgramRun>> running;
    for (int i = 0; i < 4; ++i) running.push_back(programs.start("take_the_name", "shared"));
    for (auto& program : running) program->close_input();
    int winners = 0;
    for (auto& program : running) {
      const std::string line = program->read_line();
      CHECK(program->wait() == 0);
      if (line == "mine") {
        ++winners;
      } else {
        CHECK_THAT(line, Contains("it is in use by process"));
      }
    }
    // One that came when another had ended has gone on with the run.
    CHECK(winners >= 1);
    check_ended(programs.storage() / "shared", 3 * winners);
  }
}

TEST_CASE("several programs at once have a run each", "[track]") {
  TrackPrograms programs;
  std::vector<std::unique_ptr<ProgramRun>> running;
  for (int i = 0; i < 8; ++i) running.push_back(programs.start("report"));
  for (auto& program : running) CHECK(program->wait() == 0);
  int runs = 0;
  for (const auto& entry : fs::directory_iterator(programs.storage())) {
    check_ended(entry.path(), 3);
    ++runs;
  }
  CHECK(runs == 8);
}

}  // namespace
}  // namespace tune::test
