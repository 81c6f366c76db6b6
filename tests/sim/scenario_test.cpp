#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "scenario.hpp"
#include "support/temporary_folder.hpp"

namespace tune::test {
namespace {

std::vector<std::filesystem::path> scenario_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(TUNE_TEST_SCENARIOS)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Runs one script; what it says and did not happen is the failure's text, after the whole trace.
void check_scenario(const std::filesystem::path& file) {
  std::string trace;
  const Scenario scenario = read_scenario(file);
  REQUIRE_FALSE(scenario.expectations.empty());
  const std::string differences =
      run_scenario(scenario, [&](const std::string& line) { trace += line + "\n"; });
  if (!differences.empty()) FAIL(trace << "\n" << file.string() << "\n" << differences);
}

TEST_CASE("every scenario goes as its script says", "[scenario]") {
  const std::vector<std::filesystem::path> files = scenario_files();
  REQUIRE(files.size() >= 12);
  for (const std::filesystem::path& file : files) {
    DYNAMIC_SECTION(file.stem().string()) { check_scenario(file); }
  }
}

// The entries of the list of cases that are told as scripts; each by its own name.
#define TUNE_SCENARIO_CASE(title, file)                                  \
  TEST_CASE(title, "[scenario]") {                                       \
    check_scenario(std::filesystem::path(TUNE_TEST_SCENARIOS) / (file)); \
  }
TUNE_SCENARIO_CASE("SC-03: a trial stopped at a rung has exactly as many results", "asha_rungs.txt")
TUNE_SCENARIO_CASE("SC-09: a trial that was paused goes on after its pause", "pause_unpause.txt")
TUNE_SCENARIO_CASE("ME-06: a text objective ends its trial with an error", "text_objective.txt")
TUNE_SCENARIO_CASE("ME-08: steps that go backwards are told once", "backward_steps.txt")
TUNE_SCENARIO_CASE("FA-03: no retry without max_failures", "retry_limit_0.txt")
TUNE_SCENARIO_CASE("FA-03: two retries make three attempts", "retry_limit_2.txt")
TUNE_SCENARIO_CASE("FA-03: retries without a limit go on until stopped", "retry_unlimited.txt")
TUNE_SCENARIO_CASE("FA-03: a trial that waits for its retry leaves its slot to others",
                   "retry_pause.txt")
TUNE_SCENARIO_CASE("FA-05: fail_fast leaves the others unfinished", "fail_fast.txt")
TUNE_SCENARIO_CASE("FA-09: an interrupt saves what runs", "interrupt.txt")
TUNE_SCENARIO_CASE("FA-06: an invalid configuration is not retried", "invalid_configuration.txt")
TUNE_SCENARIO_CASE("RS-01: a request that no node can hold is refused", "infeasible_request.txt")
TUNE_SCENARIO_CASE("SC-02: progress that jumps over rungs is judged at the highest",
                   "jump_over_rungs.txt")
TUNE_SCENARIO_CASE("SC-04: falling scores stop at the first rung, one after the other",
                   "asha_falling.txt")
TUNE_SCENARIO_CASE("SC-04: rising scores all pass the first rung", "asha_rising.txt")
TUNE_SCENARIO_CASE("ME-07: a function that ends adds no row", "function_ends.txt")
TUNE_SCENARIO_CASE("ME-10: equal scores are stopped by nobody", "equal_scores.txt")
TUNE_SCENARIO_CASE("FA-04: the experiment ends though every trial fails", "every_trial_fails.txt")
TUNE_SCENARIO_CASE("FA-06: invalid configurations end the search at their bound",
                   "invalid_everywhere.txt")
TUNE_SCENARIO_CASE("RS-01: where nodes may join a request waits for a bigger one",
                   "wait_for_a_bigger_node.txt")
TUNE_SCENARIO_CASE("a clone that cannot be loaded is undone", "exploit_undone.txt")
TUNE_SCENARIO_CASE("FA-08: behind a damaged checkpoint a trial goes on from the one before it",
                   "damaged_newest.txt")
TUNE_SCENARIO_CASE("FA-08: a trial whose checkpoints are all damaged is an error",
                   "damaged_all.txt")
TUNE_SCENARIO_CASE("the best checkpoints are kept beside the newest", "keep_best.txt")
TUNE_SCENARIO_CASE("with one slot a trial that goes back waits for its turn",
                   "one_slot_crash_in_turn.txt")
TUNE_SCENARIO_CASE("SE-08: of nine points one fails and eight end well", "one_of_nine_fails.txt")

TEST_CASE("a word that no script has is an error with its place", "[scenario]") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "bad.txt";
  std::ofstream(file) << "trials 2\n\nfrobnicate 3\n";
  CHECK_THROWS_WITH(read_scenario(file), "bad.txt:3: unknown word frobnicate");
}

TEST_CASE("a script whose expectation is wrong fails", "[scenario]") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "wrong.txt";
  std::ofstream(file) << "trials 1\nnode a cpu=1\ntrial * reports loss 1\ntrial * ends after 2\n"
                         "expect trial 0 results 3\n";
  CHECK(run_scenario(read_scenario(file), {}) == "wrong.txt:5: want 3, have 2\n");
}

}  // namespace
}  // namespace tune::test
