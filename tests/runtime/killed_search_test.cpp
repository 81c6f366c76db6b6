#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/result_grid.hpp>

#include "chaos_run.hpp"
#include "chaos_search.hpp"
#include "store/journal_reader.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

void run_until_it_kills_itself(const ChaosFolder& folder) {
  const auto run = folder.start();
  REQUIRE(run->wait() == -SIGKILL);
  folder.check_after_kill();
}

/// All files of a trial, by their paths.
std::map<std::string, std::string> files_of(const fs::path& trial) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(trial)) {
    if (entry.is_regular_file()) files[entry.path().string()] = read_text(entry.path());
  }
  return files;
}

std::vector<std::int64_t> start_iterations(const fs::path& experiment, std::uint64_t trial) {
  std::vector<std::int64_t> iterations;
  for (const store::StartRow& start : store::JournalReader(experiment).starts(TrialId{trial})) {
    iterations.push_back(start.trial.start_iteration);
  }
  return iterations;
}

TEST_CASE("RE-01: a search whose driver was killed repeats no work", "[RE-01]") {
  const ChaosFolder folder("grid");
  run_until_it_kills_itself(folder);
  std::vector<std::map<std::string, std::string>> before;
  {
    const ResultGrid results = ResultGrid::open(folder.experiment());
    REQUIRE(results.size() >= 4);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(results[i].state == TrialState::terminated);
      before.push_back(files_of(results[i].path));
    }
  }

  folder.finish();
  folder.check_after_end();
  const ResultGrid results = ResultGrid::open(folder.experiment());
  REQUIRE(results.size() == 6);
  int directories = 0;
  for (const auto& entry : fs::directory_iterator(folder.experiment())) {
    directories += entry.is_directory() ? 1 : 0;
  }
  CHECK(directories == 6);
  for (std::size_t i = 0; i < results.size(); ++i) {
    CAPTURE(i);
    CHECK(results[i].id == TrialId{i});
    CHECK(results[i].state == TrialState::terminated);
    CHECK(results[i].config["x"].get<double>() == Approx(0.1 * static_cast<double>(i + 1)));
    CHECK(iterations(results[i]) == counted_to(chaos_iterations));
    if (i < 3) CHECK(files_of(results[i].path) == before[i]);
    const std::vector<std::int64_t> starts = start_iterations(folder.experiment(), i);
    CHECK(starts.front() == 0);
    REQUIRE(starts.size() == (i == 3 ? 2 : 1));
    if (i == 3) CHECK(starts.back() >= 3);
  }
}

TEST_CASE("a resume removes what a trial left whose start is not on record", "[resume]") {
  const ChaosFolder folder("grid");
  run_until_it_kills_itself(folder);
  // As if trial 5 had been started, and had saved, an instant before its suggestion was committed;
  // the searcher may suggest something else for it now.
  for (const char* name : {"00005_x=0.6", "00005_x=0.77"}) {
    for (const char* left : {"checkpoint_000012", ".tmp-checkpoint_000013-1-2"}) {
      fs::create_directories(folder.experiment() / name / left);
      std::ofstream(folder.experiment() / name / left / "weights") << "w";
    }
  }
  fs::create_directories(folder.experiment() / "00007 notes of mine");
  folder.finish();
  folder.check_after_end();
  CHECK_FALSE(fs::exists(folder.experiment() / "00005_x=0.77"));
  CHECK(fs::exists(folder.experiment() / "00007 notes of mine"));
}

TEST_CASE("SC-19: an early-stopping scheduler remembers across a resume", "[SC-19]") {
  const ChaosFolder folder("constants");
  run_until_it_kills_itself(folder);
  folder.finish();
  folder.check_after_end();
  const ResultGrid results = ResultGrid::open(folder.experiment());
  REQUIRE(results.size() == 8);
  CHECK(iterations(results[0]) == counted_to(8));
  for (std::size_t i = 1; i < 8; ++i) {
    CAPTURE(i);
    CHECK(results[i].config["x"].get<double>() == 8.0 - static_cast<double>(i));
    CHECK(iterations(results[i]) == counted_to(1));
    if (i < 4) CHECK(start_iterations(folder.experiment(), i).size() == 1);
  }
  CHECK(results.best().id == TrialId{0});
}

}  // namespace
}  // namespace tune::test
