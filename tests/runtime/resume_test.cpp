#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/fsck.hpp>
#include <tune/schedulers/asha.hpp>
#include <tune/searchers/grid.hpp>

#include "run_support.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

/// Halves x; writes each start into a file. In its fourth step it fails as long as there is a file
/// "trap", and waits for its end as long as there is a file "hold".
class Halving final : public Descent {
 public:
  void setup(const Config& config) override {
    Descent::setup(config);
    add_line(context().trial_dir / "starts", std::to_string(context().start_iteration));
    iteration_ = context().start_iteration;
  }
  Metrics step() override {
    ++iteration_;
    const fs::path storage = context().trial_dir.parent_path().parent_path();
    if (iteration_ == 4) {
      wait_until([&] { return context().should_stop() || !fs::exists(storage / "hold"); });
    }
    const fs::path trap = storage / "trap";
    if (iteration_ == 4 && fs::exists(trap) && context().trial_id.value() % 3 == 2) {
      throw std::runtime_error("trapped");
    }
    return Descent::step();
  }

 private:
  std::int64_t iteration_ = 0;
};
TUNE_REGISTER_TRAINABLE(Halving)

Experiment resumable(const TemporaryFolder& folder, std::int64_t samples = 4) {
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", uniform(1, 2)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.num_samples = samples;
  experiment.stop = {{"training_iteration", 5}};
  experiment.checkpoint = {.every = 1};
  experiment.exporters = {"json", "csv", "tensorboard"};
  return experiment;
}

ResultGrid run(Experiment experiment) { return tune_run<Halving>(experiment); }

std::vector<std::string> starts(const TrialResult& trial) {
  return read_lines(trial.path / "starts");
}

/// Iterations and losses of a trial in its result.json.
std::vector<std::int64_t> rows(const TrialResult& trial) {
  std::vector<std::int64_t> iterations;
  for (const std::string& line : read_lines(trial.path / "result.json")) {
    iterations.push_back(Json::parse(line).at("training_iteration"));
  }
  return iterations;
}

using Contents = std::map<std::string, std::string>;

/// All files of an experiment's trials.
Contents trial_files(const fs::path& experiment) {
  Contents contents;
  for (const auto& entry : fs::recursive_directory_iterator(experiment)) {
    if (!entry.is_regular_file() || entry.path().parent_path() == experiment) continue;
    contents[fs::relative(entry.path(), experiment).string()] = read_text(entry.path());
  }
  return contents;
}

/// Raises a signal at the n-th result, as a user would.
class Interrupter final : public Callback {
 public:
  explicit Interrupter(int results) : left_(results) {}
  void on_trial_result(const TrialInfo&, const Result&) override {
    if (--left_ == 0) ::kill(::getpid(), SIGINT);
  }

 private:
  int left_;
};

/// Runs until the n-th result, and is interrupted there: of the first two trials, which do not end
/// before.
ResultGrid interrupted_after(Experiment experiment, int results) {
  const fs::path hold = fs::path(experiment.storage_path) / "hold";
  std::ofstream(hold) << "";
  experiment.callbacks = {std::make_shared<Interrupter>(results)};
  experiment.exit_on_signal = false;
  std::signal(SIGINT, SIG_DFL);  // the test's own handler would be left in its place
  ResultGrid grid = tune_run<Halving>(experiment);
  fs::remove(hold);
  CHECK(grid.interrupted());
  CHECK(grid.experiment_end().unfinished_trials > 0);
  return grid;
}

TEST_CASE("RE-03: a complete experiment runs nothing again", "[resume][RE-03][RE-09]") {
  const TemporaryFolder folder;
  const ResultGrid first = run(resumable(folder));
  const Contents before = trial_files(first.path());
  const ResultGrid second = run(resumable(folder));
  CHECK(second.size() == 4);
  CHECK(second.best().id == first.best().id);
  CHECK(second.experiment().experiment_id == first.experiment().experiment_id);
  CHECK(trial_files(first.path()) == before);
}

TEST_CASE("RE-03: more samples extend an experiment and leave the others alone",
          "[resume][RE-03]") {
  const TemporaryFolder folder;
  const ResultGrid first = run(resumable(folder, 4));
  const Contents before = trial_files(first.path());
  const ResultGrid second = run(resumable(folder, 6));
  REQUIRE(second.size() == 6);
  for (const auto& [file, content] : before) CHECK(trial_files(first.path()).at(file) == content);
  CHECK(starts(second[5]) == std::vector<std::string>{"0"});
  CHECK(run(resumable(folder, 6)).size() == 6);
  const TemporaryFolder other;
  CHECK(run(resumable(other, 6))[5].config == second[5].config);
}

TEST_CASE("RE-03: a larger stop bound lets trials go on from their checkpoints",
          "[resume][RE-03]") {
  const TemporaryFolder folder;
  (void)run(resumable(folder));
  Experiment more = resumable(folder);
  more.stop = {{"training_iteration", 8}};
  const ResultGrid grid = tune_run<Halving>(more);
  REQUIRE(grid.size() == 4);
  for (const TrialResult& trial : grid) {
    CHECK(iterations(trial) == counted_to(8));
    CHECK(rows(trial) == counted_to(8));
    CHECK(starts(trial) == std::vector<std::string>{"0", "5"});
    CHECK(trial.state == TrialState::terminated);
  }
}

TEST_CASE("those stopped by a scheduler stay when a bound is raised", "[resume]") {
  const TemporaryFolder folder;
  const auto define = [&](double bound) {
    Experiment experiment = resumable(folder, 8);
    experiment.scheduler = asha({.max_t = 16, .grace_period = 1, .reduction_factor = 2});
    experiment.stop = {{"training_iteration", bound}};
    experiment.max_concurrent = 1;
    return experiment;
  };
  std::vector<std::int64_t> before;
  for (const TrialResult& trial : run(define(3))) before.push_back(trial.training_iteration);
  const ResultGrid grid = run(define(6));
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] < 3) {
      CHECK(grid[i].training_iteration == before[i]);
    } else {
      CHECK(grid[i].training_iteration > 3);
    }
  }
}

TEST_CASE("FA-09: an interrupted experiment goes on where it was",
          "[resume][FA-09][RE-01][RE-02]") {
  const TemporaryFolder folder;
  const ResultGrid first = interrupted_after(resumable(folder), 6);
  CHECK(first.experiment_end().unfinished_trials > 0);
  const ResultGrid grid = run(resumable(folder));
  REQUIRE(grid.size() == 4);
  for (const TrialResult& trial : grid) {
    CHECK(iterations(trial) == counted_to(5));
    CHECK(rows(trial) == counted_to(5));
    CHECK(read_lines(trial.path / "progress.csv").size() == 6);
    double before = 0;
    for (const Result& result : trial.history()) {
      CHECK(result.time_total_s >= before);
      CHECK(result.metrics.at("steps").as_double() == double(result.training_iteration));
      before = result.time_total_s;
    }
    for (const std::string& start : starts(trial)) {
      if (&start != &starts(trial).front()) CHECK(starts(trial).size() <= 2);
    }
  }
  CHECK_FALSE(grid.interrupted());
}

TEST_CASE("FA-05: fail-fast leaves the others to be gone on with", "[resume][FA-05]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "trap") << "";
  Experiment experiment = resumable(folder);
  experiment.failure.fail_fast = true;
  const ResultGrid first = tune_run<Halving>(experiment);
  CHECK(first.interrupted());
  CHECK(first.errors().size() == 1);
  const ResultGrid grid = run(resumable(folder));
  CHECK(grid.errors().size() == 1);
  for (const TrialResult& trial : grid) {
    if (trial.state == TrialState::error) continue;
    CHECK(trial.state == TrialState::terminated);
    CHECK(rows(trial) == counted_to(5));
  }
}

TEST_CASE("RE-04: errored trials stay, go on or start anew, as is asked for", "[resume][RE-04]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "trap") << "";
  const ResultGrid first = run(resumable(folder, 6));
  REQUIRE(first.errors().size() == 2);
  CHECK(iterations(first[2]) == counted_to(3));
  const Contents before = trial_files(first.path());
  fs::remove(folder.path() / "trap");
  Experiment experiment = resumable(folder, 6);
  std::vector<std::string> expected_starts = {"0"};
  bool stays = false;
  SECTION("by itself nothing happens") { stays = true; }
  SECTION("errored") {
    experiment.resume = Resume::errored;
    expected_starts = {"0", "3"};
  }
  SECTION("restart_errored") {
    experiment.resume = Resume::restart_errored;
    expected_starts = {"0", "0"};
  }
  const ResultGrid grid = tune_run<Halving>(experiment);
  REQUIRE(grid.size() == 6);
  CHECK(grid.errors().size() == (stays ? 2U : 0U));
  for (const std::size_t i : {2U, 5U}) {
    CHECK(starts(grid[i]) == expected_starts);
    CHECK(iterations(grid[i]) == counted_to(stays ? 3 : 5));
    CHECK(rows(grid[i]) == counted_to(stays ? 3 : 5));
  }
  const Contents after = trial_files(first.path());
  for (const auto& [file, content] : before) {
    if (stays || (!file.starts_with("00002") && !file.starts_with("00005"))) {
      CHECK(after.at(file) == content);
    }
  }
}

TEST_CASE("RE-05: a moved experiment goes on at its new place", "[resume][RE-05]") {
  const TemporaryFolder folder;
  (void)interrupted_after(resumable(folder), 6);
  const fs::path moved = folder.path() / "elsewhere";
  fs::create_directory(moved);
  fs::rename(folder.path() / "run", moved / "other");
  Experiment experiment = resumable(folder);
  experiment.storage_path = moved.string() + "/";
  experiment.name = "other";
  const ResultGrid grid = tune_run<Halving>(experiment);
  CHECK(grid.path() == moved / "other");
  CHECK_FALSE(fs::exists(folder.path() / "run"));
  for (const TrialResult& trial : grid) {
    CHECK(rows(trial) == counted_to(5));
    CHECK(fs::exists(trial.checkpoint->path / "state"));
  }
}

std::string refusal(Experiment experiment) {
  try {
    (void)tune_run<Halving>(experiment);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

TEST_CASE("RE-06: another definition is refused with what differs", "[resume][RE-06]") {
  using Catch::Contains;
  const TemporaryFolder folder;
  const Contents before = trial_files(run(resumable(folder)).path());
  Experiment space = resumable(folder);
  space.space = {{"x", loguniform(1, 2)}};
  CHECK_THAT(refusal(std::move(space)),
             Contains("parameter \"x\": was") && Contains("loguniform") && Contains("accept_new"));
  Experiment mode = resumable(folder);
  mode.mode = Mode::max;
  mode.scheduler = asha({.max_t = 3});
  CHECK_THAT(refusal(std::move(mode)),
             Contains("mode: was \"min\", is \"max\"") && Contains("scheduler"));
  Experiment seed = resumable(folder);
  seed.seed = 2;
  CHECK_THAT(refusal(std::move(seed)), Contains("seed: was 1, is 2"));
  CHECK(trial_files(folder.path() / "run") == before);

  Experiment accepted = resumable(folder, 6);
  accepted.space = {{"x", uniform(5, 6)}};
  accepted.accept_new_space = true;
  const ResultGrid grid = tune_run<Halving>(accepted);
  CHECK(grid[3].config["x"].get<double>() < 2);
  CHECK(grid[4].config["x"].get<double>() >= 5);
}

TEST_CASE("RE-07: exports that were cut or lost are made again", "[resume][RE-07]") {
  const TemporaryFolder folder;
  const ResultGrid first = interrupted_after(resumable(folder), 6);
  for (const TrialResult& trial : first) {
    if (!fs::exists(trial.path / "result.json")) continue;
    fs::resize_file(trial.path / "result.json", 0);
    fs::resize_file(trial.path / "progress.csv", 0);
  }
  fs::resize_file(first.path() / "experiment.json", 0);
  const ResultGrid grid = run(resumable(folder));
  for (const TrialResult& trial : grid) {
    CHECK(rows(trial) == counted_to(5));
    CHECK(read_lines(trial.path / "progress.csv").size() == 6);
  }
  CHECK(fs::file_size(first.path() / "experiment.json") > 0);
}

TEST_CASE("RE-07: what a journal that is too old does not know is set aside", "[resume][RE-07]") {
  const TemporaryFolder folder;
  const ResultGrid first = interrupted_after(resumable(folder), 3);
  const fs::path journal = first.path() / "experiment.db";
  const std::string old = read_text(journal);
  const auto checkpoint_of_first = [](const ResultGrid& grid) {
    return grid[0].checkpoint.value().path;
  };
  const fs::path before = checkpoint_of_first(first);
  const ResultGrid second = run(resumable(folder));
  const fs::path behind = checkpoint_of_first(second);
  REQUIRE(before != behind);
  std::ofstream(journal, std::ios::binary) << old;  // somebody's backup

  const ResultGrid third = run(resumable(folder));
  CHECK(third[0].state == TrialState::error);
  CHECK_THAT(third[0].error, Catch::Contains("no usable checkpoint"));
  CHECK(fs::is_directory(third[0].path / ("left_over_" + behind.filename().string())));
  const std::string log = read_text(third.path() / "driver.log");
  CHECK_THAT(log, Catch::Contains("the journal is older than the files"));
  CHECK_THAT(log, Catch::Contains("it is now left_over_checkpoint_"));
  bool has_kept_trial = false;  // of which the old journal has not heard
  for (const auto& entry : fs::directory_iterator(third.path())) {
    has_kept_trial = has_kept_trial || entry.path().filename().string().starts_with("left_over_0");
  }
  CHECK(has_kept_trial);
  std::ostringstream report;
  fsck(third.path()).print(report);
  INFO(report.str());
  CHECK(fsck(third.path()).is_sound());
}

TEST_CASE("a trial directory that is gone is made again as far as it can be", "[resume]") {
  const TemporaryFolder folder;
  const ResultGrid first = run(resumable(folder));
  fs::remove_all(first[1].path);
  const ResultGrid grid = run(resumable(folder, 5));
  CHECK(rows(grid[1]) == counted_to(5));
  CHECK_FALSE(grid[1].checkpoint);  // which no journal holds
}

TEST_CASE("RE-07: a journal cut to nothing is an error, and nothing is begun", "[resume][RE-07]") {
  const TemporaryFolder folder;
  const ResultGrid first = run(resumable(folder));
  const Contents before = trial_files(first.path());
  fs::resize_file(first.path() / "experiment.db", 0);
  CHECK_THAT(refusal(resumable(folder)), Catch::Contains("experiment.db"));
  CHECK(fs::file_size(first.path() / "experiment.db") == 0);
  CHECK(trial_files(first.path()) == before);
}

TEST_CASE("RE-09: fresh moves the earlier run aside, whole", "[resume][RE-09]") {
  const TemporaryFolder folder;
  const ResultGrid first = interrupted_after(resumable(folder), 6);
  Experiment fresh = resumable(folder);
  fresh.resume = Resume::fresh;
  const ResultGrid second = tune_run<Halving>(fresh);
  CHECK(second.experiment().experiment_id != first.experiment().experiment_id);
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    if (entry.path().filename() != "run") others.push_back(entry.path());
  }
  REQUIRE(others.size() == 1);
  CHECK(ResultGrid::open(others[0]).interrupted());
  Experiment aside = resumable(folder);
  aside.name = others[0].filename().string();
  CHECK_FALSE(tune_run<Halving>(aside).interrupted());

  Experiment never = resumable(folder);
  never.resume = Resume::never;
  CHECK_THAT(refusal(std::move(never)), Catch::Contains("resume is never"));
}

TEST_CASE("FA-08: a mistyped checkpoint to start from is refused before anything starts",
          "[resume][FA-08]") {
  const TemporaryFolder folder;
  Experiment experiment = resumable(folder);
  experiment.resume_from = (folder.path() / "chekpoint").string();
  CHECK_THAT(refusal(std::move(experiment)), Catch::Contains("resume_from") &&
                                                 Catch::Contains("chekpoint") &&
                                                 Catch::Contains("no such directory"));
  CHECK_FALSE(fs::exists(folder.path() / "run"));
}

TEST_CASE("trials start from a given checkpoint as long as they have none", "[resume]") {
  const TemporaryFolder folder;
  const fs::path given = folder.path() / "given";
  fs::create_directory(given);
  std::ofstream(given / "state") << "64 0";
  Experiment experiment = resumable(folder, 2);
  experiment.resume_from = given.string();
  experiment.max_concurrent = 1;
  (void)interrupted_after(std::move(experiment), 3);
  Experiment again = resumable(folder, 2);
  again.resume_from = given.string();
  for (const TrialResult& trial : tune_run<Halving>(again)) {
    std::vector<double> losses;
    for (const Result& r : trial.history()) losses.push_back(r.metrics.at("loss").as_double());
    CHECK(losses == std::vector<double>{32, 16, 8, 4, 2});
  }
}

TEST_CASE("a resume takes time_budget up where it was", "[resume]") {
  const TemporaryFolder folder;
  Experiment experiment = resumable(folder, -1);
  experiment.time_budget = std::chrono::milliseconds(200);
  const ResultGrid first = tune_run<Halving>(experiment);
  const std::size_t trials = first.size();
  CHECK(first.experiment_end().reason == "time budget of 0.2 s used up");
  Experiment same = resumable(folder, -1);
  same.time_budget = std::chrono::milliseconds(200);
  CHECK(tune_run<Halving>(same).size() == trials);  // it is used up
  const auto wanted = static_cast<std::int64_t>(trials) + 2;
  Experiment more = resumable(folder, wanted);
  more.time_budget = std::chrono::hours(1);
  const ResultGrid grid = tune_run<Halving>(more);
  REQUIRE(grid.size() == trials + 2);
  for (const TrialResult& trial : grid) CHECK(rows(trial) == counted_to(5));
}

}  // namespace
}  // namespace tune::test
