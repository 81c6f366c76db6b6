#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/fsck.hpp>
#include <tune/json.hpp>
#include <tune/result_grid.hpp>

#include "program_run.hpp"
#include "run_support.hpp"
#include "support/event_records.hpp"
#include "track_programs.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::int64_t> iterations_in_json(const fs::path& trial) {
  std::vector<std::int64_t> found;
  for (const std::string& line : read_lines(trial / "result.json")) {
    const Json row = Json::parse(line);
    found.push_back(row.at("training_iteration"));
    CHECK(row.at("i") == found.back());
  }
  return found;
}

std::vector<std::int64_t> iterations_in_csv(const fs::path& trial) {
  std::vector<std::int64_t> found;
  std::size_t column = 0;
  for (const std::string& line : read_lines(trial / "progress.csv")) {
    std::vector<std::string> cells{""};
    for (const char c : line) {
      if (c == ',') {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    if (column == 0 && cells.at(0) != "training_iteration") {
      while (cells.at(column) != "training_iteration") ++column;
    } else if (cells.at(column) != "training_iteration") {
      found.push_back(std::stoll(cells.at(column)));
    }
  }
  return found;
}

/// Each iteration once and in order, wherever it is recorded.
void check_each_once(const fs::path& run, std::int64_t last) {
  const TrialResult trial = ResultGrid::open(run)[0];
  const std::vector<std::int64_t> expected = counted_to(last);
  CHECK(iterations(trial) == expected);
  CHECK(iterations_in_json(trial.path) == expected);
  CHECK(iterations_in_csv(trial.path) == expected);
  CHECK(steps(shown_events(trial.path)) == expected);
  CHECK(fsck(run).is_sound());
}

TEST_CASE("a program that is killed again and again goes on where it was", "[track]") {
  TrackPrograms programs;
  std::string what;
  SECTION("from its checkpoints") { what = "go_on"; }
  SECTION("from the values that it has saved") { what = "go_on_from_saves"; }
  std::int64_t told = 0;
  for (int round = 1; round <= 6; ++round) {
    const auto program = programs.start(what);
    const std::string begin = program->read_line();
    REQUIRE(begin.starts_with("after "));
    const std::int64_t after = std::stoll(begin.substr(6));
    // What was told is never lost; what was being done may have got through or not.
    CHECK(after >= told);
    CHECK(after <= told + 1);
    for (int i = 1; i <= round; ++i) {
      told = std::stoll(program->read_line());
      CHECK(told == after + i);
    }
    program->kill();
    CHECK(program->wait() == -SIGKILL);
    // It may have told more than was read.
    for (std::string line; !(line = program->read_line()).empty();) told = std::stoll(line);
  }
  const std::int64_t last = told + 3;
  CHECK(programs.start(what, std::to_string(last))->wait() == 0);
  const fs::path run = programs.storage() / "named";
  check_each_once(run, last);
  const TrialResult trial = ResultGrid::open(run)[0];
  CHECK(trial.state == TrialState::terminated);
  const fs::path states = what == "go_on" ? trial.path : trial.path / "artifacts";
  std::vector<fs::path> stored;  // and nothing that was left over
  for (const auto& entry : fs::directory_iterator(states)) {
    if (entry.is_directory()) stored.push_back(entry.path());
  }
  REQUIRE(stored.size() == 1);
  std::int64_t state = 0;
  std::ifstream(stored.front() / "state") >> state;
  CHECK(state == last);
  // A program that has nothing to do leaves it as it is.
  CHECK(programs.start(what, std::to_string(last))->wait() == 0);
  check_each_once(run, last);
}

TEST_CASE("a child that outlives the program does not keep its run", "[track]") {
  TrackPrograms programs;
  const auto program = programs.start("fork_and_wait");
  CHECK(program->read_line() == "forked");
  program->kill();
  CHECK(program->wait() == -SIGKILL);
  const auto next = programs.start("take_the_name", "named");
  next->close_input();
  CHECK(next->read_line() == "mine");
  CHECK(next->wait() == 0);
  CHECK(iterations(ResultGrid::open(programs.storage() / "named")[0]) == counted_to(4));
  program->close_input();
}

}  // namespace
}  // namespace tune::test
