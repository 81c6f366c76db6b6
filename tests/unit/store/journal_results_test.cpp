// ResultGrid::open(): the results of an experiment out of its journal.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/result_grid.hpp>

#include "journal_samples.hpp"
#include "store/journal.hpp"
#include "support/temporary_folder.hpp"

namespace tune::store {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using test::TemporaryFolder;

// Three trials: one ended, one failed, one still runs.
std::unique_ptr<Journal> begin_experiment(const fs::path& folder) {
  auto journal = Journal::create(folder, test::sample_experiment(), JournalMode::wal);
  journal->begin_session({.number = 1, .first_event = 1, .host = "alpha", .pid = 1, .started = 1});
  for (const std::uint64_t id : {0, 1, 2}) test::add_sample_trial(*journal, TrialId(id));
  test::add_sample_event(*journal, 1, 1);
  test::add_sample_event(*journal, 2, 2);
  journal->set_state(TrialId(0), 1, TrialState::terminated, "trainable finished", "");
  journal->set_state(TrialId(1), 1, TrialState::error, "failed", "out of memory");
  journal->set_state(TrialId(2), 1, TrialState::running, "", "");
  journal->commit();
  return journal;
}

TEST_CASE("RE-10 results of an experiment that runs or was killed show its trials as they stand",
          "[results]") {
  const TemporaryFolder folder;
  const auto journal = begin_experiment(folder.path());
  const ResultGrid grid = ResultGrid::open(folder.path());
  CHECK(grid.experiment().name == "sample");
  CHECK(grid.experiment().experiment_id == "5a3c");
  CHECK(grid.experiment().objective->metric == "loss");
  CHECK(grid.experiment().seed == 0xFEDC'BA98'7654'3210);
  CHECK(grid.experiment().definition.at("trainable") == "mlp");
  CHECK(grid.path() == folder.path());
  CHECK(grid.experiment_end().terminated_trials == 1);
  CHECK(grid.experiment_end().failed_trials == 1);
  CHECK(grid.experiment_end().unfinished_trials == 1);
  CHECK(grid.experiment_end().reason.empty());
  CHECK_FALSE(grid.interrupted());
  REQUIRE(grid.size() == 3);
  const TrialResult first = grid[0];
  CHECK(first.name == "00000");
  CHECK(first.path == folder.path() / "00000");
  CHECK(first.state == TrialState::terminated);
  CHECK(first.reason == "trainable finished");
  CHECK(first.training_iteration == 2);
  CHECK(first.time_total_s == 2);
  CHECK(first.metrics.at("loss") == 0.5);
  CHECK(first.history().size() == 2);
  CHECK(grid[1].error == "out of memory");
  CHECK(grid[2].state == TrialState::running);
  CHECK(grid[2].metrics.empty());

  test::add_sample_event(*journal, 3, 3);
  journal->commit();
  CHECK(grid[0].training_iteration == 3);  // read now
}

TEST_CASE("results of an experiment that ended have what it recorded at its end", "[results]") {
  const TemporaryFolder folder;
  const auto journal = begin_experiment(folder.path());
  journal->end_session(9, {.terminated_trials = 5,
                           .reason = "time budget of 60 s used up",
                           .error = "",
                           .interrupted = true});
  journal->commit();
  CHECK(ResultGrid::open(folder.path()).experiment_end().terminated_trials == 5);
  CHECK(ResultGrid::open(folder.path()).experiment_end().reason == "time budget of 60 s used up");
  CHECK(ResultGrid::open(folder.path()).interrupted());
  journal->begin_session({.number = 2, .first_event = 3, .host = "alpha"});  // it goes on
  journal->commit();
  CHECK(ResultGrid::open(folder.path()).experiment_end().terminated_trials == 1);
  CHECK_FALSE(ResultGrid::open(folder.path()).interrupted());
}

TEST_CASE("results have the configuration of a trial's newest start", "[results]") {
  const TemporaryFolder folder;
  const auto journal = begin_experiment(folder.path());
  TrialInfo info;
  info.id = TrialId(2);
  info.name = "00002";
  info.config = Config(Json{{"lr", 0.7}});
  info.incarnation = 2;
  journal->add_start({.trial = info, .event = 3});
  journal->commit();
  CHECK(ResultGrid::open(folder.path())[2].config == info.config);
  CHECK(ResultGrid::open(folder.path())[0].config == Config(Json{{"lr", 0.1}}));
}

TEST_CASE("results have the checkpoints that are kept and there", "[results]") {
  const TemporaryFolder folder;
  const auto journal = begin_experiment(folder.path());
  for (const std::int64_t iteration : {1, 2, 3, 4}) {
    const std::string name = "checkpoint_00000" + std::to_string(iteration);
    journal->add_checkpoint(
        {.trial = TrialId(0), .directory = name, .training_iteration = iteration});
    if (iteration != 4) fs::create_directories(folder.path() / "00000" / name);
  }
  journal->doom_checkpoint(TrialId(0), "checkpoint_000001");
  journal->commit();
  const TrialResult trial = ResultGrid::open(folder.path())[0];
  REQUIRE(trial.checkpoints.size() == 2);
  CHECK(trial.checkpoints[0].training_iteration == 2);
  REQUIRE(trial.checkpoint);
  CHECK(trial.checkpoint->path == folder.path() / "00000" / "checkpoint_000003");
}

TEST_CASE("RE-05 results are read where the experiment lies now", "[results]") {
  const TemporaryFolder folder;
  const fs::path old = folder.path() / "a" / "exp";
  const fs::path moved = folder.path() / "b" / "exp2";
  fs::create_directories(old);
  fs::create_directories(moved.parent_path());
  begin_experiment(old)->finish();
  fs::rename(old, moved);
  CHECK(ResultGrid::open(moved)[0].path == moved / "00000");
  CHECK(ResultGrid::open(moved / "").path() == moved);  // with a slash at its end
  CHECK(ResultGrid::open(moved / ".." / "exp2").path() == moved);
  CHECK(ResultGrid::open(fs::relative(moved)).path() == moved);
  CHECK_FALSE(fs::exists(old));
}

TEST_CASE("where there is no experiment, results cannot be opened", "[results]") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(ResultGrid::open(folder.path()),
                    "no experiment in " + folder.path().string() + ": there is no experiment.db");
  test::set_file_bytes(folder.path() / "experiment.db", "");
  CHECK_THROWS_WITH(ResultGrid::open(folder.path()),
                    Contains(folder.path().string() + "/experiment.db: 0 bytes"));
}

}  // namespace
}  // namespace tune::store
