#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/experiment.hpp>
#include <tune/result_grid.hpp>
#include <tune/track.hpp>

#include "runtime/experiment_setup.hpp"
#include "store/directory_lock.hpp"
#include "support/environment_variable.hpp"
#include "support/temporary_folder.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

/// A folder for runs outside an experiment; the open one ends with the object.
class Runs {
 public:
  ~Runs() { track::finish(); }
  /// Begins, or goes on with, the run "run".
  void init(track::Options options = {}) const {
    options.name = "run";
    options.storage_path = folder_.path().string();
    track::init(options);
  }
  [[nodiscard]] fs::path folder() const { return folder_.path(); }
  [[nodiscard]] fs::path path() const { return folder_.path() / "run"; }
  [[nodiscard]] TrialResult trial() const { return ResultGrid::open(path())[0]; }

 private:
  test::TemporaryFolder folder_;
};

/// Reports x = first, ..., last, with checkpoints if they are asked for.
void report_x(int first, int last, bool saves) {
  for (int x = first; x <= last; ++x) {
    track::Writer writer;
    if (saves) writer = [x](const fs::path& dir) { std::ofstream(dir / "state") << x; };
    track::report({{"x", x}}, writer);
  }
}

/// "1:5 2:6" for the iterations 1 and 2 with x = 5 and 6.
std::string line_of(const TrialResult& trial) {
  std::string text;
  for (const Result& result : trial.history()) {
    text += (text.empty() ? "" : " ") + std::to_string(result.training_iteration) + ":" +
            result.metrics.at("x").json().dump();
  }
  return text;
}

/// The same as result.json has it.
std::string rows_of(const TrialResult& trial) {
  std::string text;
  std::ifstream in(trial.path / "result.json");
  for (std::string row; std::getline(in, row);) {
    const Json json = Json::parse(row);
    text += (text.empty() ? "" : " ") + json.at("training_iteration").dump() + ":" +
            json.at("x").dump();
  }
  return text;
}

std::string resume_refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST_CASE("a run of a known name goes on after its last result", "[track]") {
  const Runs runs;
  runs.init({.config = {{"lr", 0.5}}, .seed = 7});
  const std::uint64_t seed = track::context().seed;
  report_x(1, 2, false);
  const double time = runs.trial().history().back().time_total_s;
  SECTION("after it was finished") { track::finish(); }
  SECTION("after it was done") { track::report({{"done", true}}); }
  runs.init();
  CHECK(runs.trial().state == TrialState::running);
  CHECK(track::config() == Config(Json{{"lr", 0.5}}));
  CHECK(track::context().seed == seed);
  CHECK(track::context().incarnation == 2);
  CHECK(track::context().start_iteration == 2);
  CHECK_FALSE(track::checkpoint());
  report_x(3, 4, false);
  track::finish();
  const TrialResult trial = runs.trial();
  CHECK(trial.name == "00000_lr=0.5");
  CHECK(line_of(trial) == "1:1 2:2 3:3 4:4");
  CHECK(rows_of(trial) == line_of(trial));
  CHECK(trial.history()[2].time_total_s >= time);
  CHECK(trial.state == TrialState::terminated);
}

TEST_CASE("a run goes back to its newest checkpoint", "[track]") {
  const Runs runs;
  runs.init();
  report_x(1, 2, true);
  report_x(3, 4, false);
  track::finish();
  runs.init({.config = {{"lr", 0.1}}});
  REQUIRE(track::checkpoint());
  CHECK(track::checkpoint()->filename() == "checkpoint_000002");
  CHECK(track::context().start_iteration == 2);
  CHECK(track::config() == Config(Json{{"lr", 0.1}}));
  // Until something takes their place they count.
  CHECK(line_of(runs.trial()) == "1:1 2:2 3:3 4:4");
  report_x(30, 30, true);
  CHECK(line_of(runs.trial()) == "1:1 2:2 3:30");
  CHECK(rows_of(runs.trial()) == "1:1 2:2 3:30");
  track::finish();
  const TrialResult trial = runs.trial();
  REQUIRE(trial.checkpoint);
  CHECK(trial.checkpoint->training_iteration == 3);
  CHECK(trial.checkpoints.size() == 1);
}

TEST_CASE("a checkpoint that was damaged is not gone on from", "[track]") {
  const Runs runs;
  runs.init({.checkpoint = {.keep = 2}});
  report_x(1, 3, true);
  track::finish();
  const fs::path trial = runs.trial().path;
  std::ofstream(trial / "checkpoint_000003" / "state") << "something else";
  SECTION("but the one before") {
    runs.init({.checkpoint = {.keep = 2}});
    CHECK(track::checkpoint()->filename() == "checkpoint_000002");
    report_x(30, 30, true);
    CHECK(line_of(runs.trial()) == "1:1 2:2 3:30");
    CHECK(runs.trial().checkpoint->path.filename() == "checkpoint_000003_2");
    std::stringstream log;
    log << std::ifstream(runs.path() / "driver.log").rdbuf();
    CHECK_THAT(log.str(), Contains("goes back to checkpoint_000002"));
  }
  SECTION("and without another one the run is refused") {
    fs::remove(trial / "checkpoint_000002" / "state");
    CHECK_THAT(resume_refusal([&] { runs.init(); }),
               Contains("no usable checkpoint") && Contains("checkpoint_000003"));
    CHECK(line_of(runs.trial()) == "1:1 2:2 3:3");
    runs.init({.resume = Resume::fresh});
    CHECK(track::context().start_iteration == 0);
  }
}

TEST_CASE("the best checkpoints of a run are the best of all its sessions", "[track]") {
  const Runs runs;
  const CheckpointOptions options{.keep_best = 1, .metric = "x", .mode = Mode::max};
  runs.init({.checkpoint = options});
  report_x(9, 9, true);
  report_x(3, 4, true);
  track::finish();
  runs.init({.checkpoint = options});
  report_x(5, 6, true);
  track::finish();
  std::vector<std::int64_t> kept;
  for (const Checkpoint& checkpoint : runs.trial().checkpoints) {
    kept.push_back(checkpoint.training_iteration);
  }
  CHECK(kept == std::vector<std::int64_t>{1, 5});
}

TEST_CASE("what becomes of a run that is on record is the caller's choice", "[track]") {
  const Runs runs;
  runs.init();
  report_x(1, 3, true);
  track::finish();
  SECTION("never") {
    CHECK_THAT(resume_refusal([&] { runs.init({.resume = Resume::never}); }),
               Contains(runs.path().string()) && Contains("there are results in it already"));
    CHECK(line_of(runs.trial()) == "1:1 2:2 3:3");
  }
  SECTION("fresh") {
    runs.init({.resume = Resume::fresh});
    CHECK_FALSE(track::checkpoint());
    report_x(7, 7, false);
    CHECK(line_of(runs.trial()) == "1:7");
    int others = 0;
    for (const auto& entry : fs::directory_iterator(runs.folder())) {
      if (entry.path() == runs.path()) continue;
      ++others;
      CHECK(line_of(ResultGrid::open(entry.path())[0]) == "1:1 2:2 3:3");
    }
    CHECK(others == 1);
  }
}

TEST_CASE("what is no run of track is not gone on with", "[track]") {
  const Runs runs;
  SECTION("an experiment") {
    Experiment experiment;
    experiment.name = "run";
    experiment.storage_path = runs.folder().string();
    experiment.isolation = Isolation::threads;
    TrainableSpec trainable;
    trainable.name = "nothing";
    trainable.function = [](const Config&) {};
    (void)set_up(trainable, experiment);
    CHECK_THAT(resume_refusal([&] { runs.init(); }),
               Contains("name \"run\"") && Contains("there is an experiment in"));
  }
  SECTION("files of something else") {
    fs::create_directories(runs.path());
    std::ofstream(runs.path() / "thesis.tex") << "x";
    CHECK_THAT(resume_refusal([&] { runs.init(); }), Contains("no experiment.db"));
    CHECK(fs::exists(runs.path() / "thesis.tex"));
  }
}

TEST_CASE("a run has its directory for itself as long as it is open", "[track]") {
  const Runs runs;
  runs.init();
  report_x(1, 1, false);
  const auto lock = store::DirectoryLock::acquire(runs.path(), std::chrono::milliseconds(0));
  REQUIRE_FALSE(lock);
  CHECK_THAT(lock.error().message, Contains("it is in use by process"));
  track::finish();
  const auto free = store::DirectoryLock::acquire(runs.path(), std::chrono::milliseconds(0));
  REQUIRE(free);
  CHECK_THAT(resume_refusal([&] { runs.init(); }), Contains("it is in use by process"));
}

TEST_CASE("the environment may name the run", "[track]") {
  const Runs runs;
  const test::EnvironmentVariable named("TUNE_RUN", "named");
  track::init({.storage_path = runs.folder().string()});
  CHECK(track::context().experiment_name == "named");
  track::finish();
  runs.init();  // a name that is given counts
  CHECK(track::context().experiment_name == "run");
  track::finish();
  const test::EnvironmentVariable wrong("TUNE_RUN", "a/b");
  CHECK_THAT(resume_refusal([&] { track::init({.storage_path = runs.folder().string()}); }),
             Contains("TUNE_RUN: name \"a/b\""));
}

}  // namespace
}  // namespace tune::runtime
