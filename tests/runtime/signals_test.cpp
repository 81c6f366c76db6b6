#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include <tune/result_grid.hpp>

#include "run_support.hpp"
#include "search_of_its_own.hpp"
#include "support/temporary_folder.hpp"

namespace tune::test {
namespace {

using Catch::Contains;

bool is_exit(int status, int code) { return WIFEXITED(status) && WEXITSTATUS(status) == code; }

TEST_CASE("FA-09: the first signal saves what runs and ends the program", "[FA-09]") {
  const int signal = GENERATE(SIGINT, SIGTERM);
  CAPTURE(signal);
  const TemporaryFolder folder;
  SearchOfItsOwn search(SearchKind::saves, folder.path());
  search.wait_for_trials(2);
  search.kill(signal);
  CHECK(is_exit(search.wait(), 128 + signal));
  CHECK(descendants_of_search(folder.path()).empty());
  CHECK_THAT(search.errors(), Contains("interrupted") && Contains("checkpoints") &&
                                  Contains((folder.path() / "run").string()));

  const ResultGrid results = ResultGrid::open(folder.path() / "run");
  CHECK(results.interrupted());
  CHECK(results.errors().empty());
  const auto is_saved = [](const TrialResult& trial) {
    return trial.state == TrialState::paused && trial.checkpoint &&
           trial.checkpoint->training_iteration == trial.training_iteration;
  };
  CHECK(std::count_if(results.begin(), results.end(), is_saved) == 2);
}

TEST_CASE("a signal to all processes of a search at once saves what runs, too", "[signals]") {
  const TemporaryFolder folder;
  SearchOfItsOwn search(SearchKind::saves, folder.path());
  search.wait_for_trials(2);
  for (const pid_t pid : descendants_of_search(folder.path())) ::kill(pid, SIGTERM);
  CHECK(is_exit(search.wait(), 128 + SIGTERM));
  const ResultGrid results = ResultGrid::open(folder.path() / "run");
  CHECK(results.interrupted());
  CHECK(results.errors().empty());
  for (const TrialResult& trial : results) {
    CHECK(trial.state == TrialState::paused);
    REQUIRE(trial.checkpoint);
    CHECK(trial.checkpoint->training_iteration == trial.training_iteration);
  }
  CHECK(results.size() == 2);
}

TEST_CASE("FA-10: the second signal ends the program at once", "[FA-10]") {
  const TemporaryFolder folder;
  SearchOfItsOwn search(SearchKind::saves_slowly, folder.path());
  search.wait_for_trials(2);
  search.kill(SIGINT);
  search.wait_for_trials(2, "saves");
  search.kill(SIGINT);
  CHECK(is_exit(search.wait(), 130));
  CHECK(wait_until([&] { return descendants_of_search(folder.path()).empty(); }));
  CHECK(ResultGrid::open(folder.path() / "run").size() >= 2);
}

TEST_CASE("with exit_on_signal off tune_run returns and says that it was interrupted",
          "[signals]") {
  const TemporaryFolder folder;
  SearchOfItsOwn search(SearchKind::returns, folder.path());
  search.wait_for_trials(2);
  search.kill(SIGINT);
  CHECK(is_exit(search.wait(), 5));
}

TEST_CASE("SIGHUP and SIGPIPE end no search", "[signals]") {
  const TemporaryFolder folder;
  SearchOfItsOwn search(SearchKind::saves, folder.path());
  search.wait_for_trials(2);
  search.kill(SIGHUP);
  search.kill(SIGPIPE);
  search.kill(SIGTERM);  // comes last, and is what ends it
  CHECK(is_exit(search.wait(), 143));
}

}  // namespace
}  // namespace tune::test
