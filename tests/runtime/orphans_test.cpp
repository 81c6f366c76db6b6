#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/tune_run.hpp>

#include "process_experiment.hpp"
#include "search_of_its_own.hpp"
#include "searching_trainables.hpp"

namespace tune::test {
namespace {

TEST_CASE("FA-11: no process outlives a search that ends well", "[FA-11]") {
  const TemporaryFolder folder;
  const SearchMark mark(folder.path());
  Experiment experiment = process_experiment(folder);
  experiment.num_samples = 3;
  experiment.time_budget = std::chrono::milliseconds(300);
  (void)tune_run<HasChildren>(experiment);
  std::vector<pid_t> left = descendants_of_search(folder.path());
  std::erase(left, ::getpid());
  CHECK(left.empty());
}

TEST_CASE("FA-11: no process outlives a search that is killed", "[FA-11]") {
  // By the moment at which it comes: at once, or once trials run.
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    const TemporaryFolder folder;
    {
      const SearchOfItsOwn search(SearchKind::has_children, folder.path());
      if (round % 2 == 0) search.wait_for_trials(2);
      search.kill(SIGKILL);
    }
    REQUIRE(wait_until([&] { return descendants_of_search(folder.path()).empty(); }));
  }
}

}  // namespace
}  // namespace tune::test
