#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/result_grid.hpp>
#include <tune/track.hpp>

#include "support/temporary_folder.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

/// A run outside an experiment, in a folder of its own; ended with the object.
class TrackRun {
 public:
  explicit TrackRun(track::Options options = {}) {
    options.name = "run";
    options.storage_path = folder_.path().string();
    track::init(options);
  }
  ~TrackRun() { track::finish(); }
  TrackRun(const TrackRun&) = delete;
  TrackRun& operator=(const TrackRun&) = delete;

  [[nodiscard]] fs::path path() const { return folder_.path() / "run"; }
  /// What a reader finds now.
  [[nodiscard]] TrialResult trial() const { return ResultGrid::open(path())[0]; }
  [[nodiscard]] std::string log() const {
    std::ifstream in(path() / "driver.log");
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  test::TemporaryFolder folder_;
};

void save_nothing(const fs::path&) {}

std::vector<std::string> checkpoint_names(const fs::path& trial) {
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator(trial)) {
    const std::string name = entry.path().filename().string();
    if (name.find("checkpoint") != std::string::npos) found.insert(name);
  }
  return {found.begin(), found.end()};
}

/// What `call` says as a std::logic_error.
std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST_CASE("a report outside an experiment is in the files when it returns", "[track]") {
  const TrackRun run({.config = {{"lr", 0.5}, {"depth", 3}}});
  CHECK(run.trial().state == TrialState::running);
  for (int i = 1; i <= 3; ++i) {
    track::report({{"loss", 1.0 / i}});
    const std::vector<Result> history = run.trial().history();
    REQUIRE(history.size() == static_cast<std::size_t>(i));
    CHECK(history.back().training_iteration == i);
    CHECK(history.back().metrics == Metrics{{"loss", 1.0 / i}});
    CHECK(history.back().time_this_iter_s >= 0);
  }
  track::finish();
  const ResultGrid results = ResultGrid::open(run.path());
  REQUIRE(results.size() == 1);
  CHECK(results[0].state == TrialState::terminated);
  CHECK(results[0].reason == "finished");
  CHECK(results[0].name == "00000_depth=3_lr=0.5");
  CHECK(results[0].config == Config(Json{{"lr", 0.5}, {"depth", 3}}));
  CHECK(results.experiment_end().terminated_trials == 1);
}

TEST_CASE("outside an experiment track says what the run is", "[track]") {
  const TrackRun run({.config = {{"x", 1}}, .seed = 7});
  CHECK(track::config() == Config(Json{{"x", 1}}));
  CHECK_FALSE(track::checkpoint());
  CHECK_FALSE(track::should_stop());
  const TrialContext& context = track::context();
  CHECK(context.trial_id == TrialId(0));
  CHECK(context.trial_dir == run.path() / "00000_x=1");
  CHECK(context.experiment_name == "run");
  CHECK(context.incarnation == 1);
  CHECK(context.start_iteration == 0);
  CHECK(context.resources.cpu() >= 1);
  const std::uint64_t seed = context.seed;
  track::finish();
  const TrackRun again({.config = {{"x", 1}}, .seed = 7});
  CHECK(track::context().seed == seed);
}

TEST_CASE("all threads belong to the run outside an experiment", "[track]") {
  constexpr int threads = 6;
  constexpr int reports = 40;
  const TrackRun run;
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t) {
    pool.emplace_back([t] {
      for (int i = 0; i < reports; ++i) {
        if (i % 2 == 0) {
          track::report({{"n", t * reports + i}}, save_nothing);
        } else {
          const track::Attachment attached = track::attach(track::handle());
          track::report({{"n", t * reports + i}});
        }
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  std::set<std::int64_t> seen;
  std::int64_t iteration = 0;
  for (const Result& result : run.trial().history()) {
    CHECK(result.training_iteration == ++iteration);
    seen.insert(std::get<std::int64_t>(result.metrics.at("n").variant()));
  }
  CHECK(seen.size() == threads * reports);
}

TEST_CASE("outside an experiment checkpoints are stored, and only so many kept", "[track]") {
  track::Options options;
  std::vector<std::string> kept;
  SECTION("at each report with a writer, the newest one") { kept = {"checkpoint_000007"}; }
  SECTION("the newest two") {
    options.checkpoint.keep = 2;
    kept = {"checkpoint_000006", "checkpoint_000007"};
  }
  SECTION("every third") {
    options.checkpoint = {.every = 3, .keep = 3};
    kept = {"checkpoint_000003", "checkpoint_000006"};
  }
  SECTION("the best two") {
    options.checkpoint = {.keep_best = 2, .metric = "y", .mode = Mode::max};
    kept = {"checkpoint_000003", "checkpoint_000004", "checkpoint_000007"};
  }
  const TrackRun run(options);
  for (int i = 1; i <= 7; ++i) {
    track::report({{"x", i}, {"y", i <= 3 ? i : 6 - i}}, [&](const fs::path& dir) {
      CHECK(fs::is_empty(dir));
      std::ofstream(dir / "state") << i;
    });
  }
  track::report({{"x", 8}});
  const TrialResult trial = run.trial();
  CHECK(checkpoint_names(trial.path) == kept);
  std::vector<std::string> recorded;
  for (const Checkpoint& checkpoint : trial.checkpoints) {
    recorded.push_back(checkpoint.path.filename().string());
    std::int64_t state = 0;
    std::ifstream(checkpoint.path / "state") >> state;
    CHECK(state == checkpoint.training_iteration);
  }
  CHECK(recorded == kept);
}

TEST_CASE("outside an experiment what a writer throws passes through", "[track]") {
  const TrackRun run;
  CHECK_THROWS_AS(
      track::report({{"x", 1}}, [](const fs::path&) { throw std::out_of_range("mine"); }),
      std::out_of_range);
  CHECK(checkpoint_names(track::context().trial_dir).empty());
  track::report({{"x", 2}}, save_nothing);
  const TrialResult trial = run.trial();
  CHECK(trial.history().size() == 2);
  REQUIRE(trial.checkpoint);
  CHECK(trial.checkpoint->training_iteration == 2);
}

TEST_CASE("a writer cannot report, but ask", "[track]") {
  const TrackRun run;
  std::vector<std::string> refused;
  track::report({{"x", 1}}, [&](const fs::path&) {
    refused = {refusal_of([] {
                 track::report({{"x", 2}});
               }),
               refusal_of([] {
                 track::log({{"x", 2}});
               }),
               refusal_of([] { track::finish(); })};
    CHECK(track::context().experiment_name == "run");
    CHECK_FALSE(track::should_stop());
  });
  REQUIRE(refused.size() == 3);
  CHECK_THAT(refused[0], Contains("track::report") && Contains("while a writer writes its files"));
  CHECK_THAT(refused[1], Contains("track::log"));
  CHECK_THAT(refused[2], Contains("track::finish"));
  CHECK(run.trial().history().size() == 1);
}

TEST_CASE("what is logged outside an experiment comes with the next report", "[track]") {
  const TrackRun run;
  track::log({{"lr", 0.1}, {"eval", {{"acc", 0.9}}}});
  track::report({{"x", 1}});
  track::report({{"x", 2}});
  track::log({{"late", 1}});
  track::finish();
  const std::vector<Result> history = run.trial().history();
  REQUIRE(history.size() == 2);
  CHECK(history[0].metrics == Metrics{{"lr", 0.1}, {"eval/acc", 0.9}, {"x", 1}});
  CHECK(history[1].metrics == Metrics{{"x", 2}});
  CHECK_THAT(run.log(), Contains("logged, but no report followed: late"));
}

TEST_CASE("RA-02: reserved names outside an experiment", "[track][RA-02]") {
  const TrackRun run;
  for (int i = 0; i < 2; ++i) {
    track::report({{"training_iteration", 99},
                   {"trial_id", "x"},
                   {"done", false},
                   {"config", 1},
                   {"loss", 0.5}});
  }
  const std::vector<Result> history = run.trial().history();
  REQUIRE(history.size() == 2);
  CHECK(history[0].training_iteration == 1);
  CHECK(history[1].metrics == Metrics{{"loss", 0.5}});
  const std::string log = run.log();
  const std::string warning =
      "metrics with reserved names are ignored: training_iteration, trial_id";
  CHECK_THAT(log, Contains(warning));
  CHECK(log.find(warning) == log.rfind(warning));
}

TEST_CASE("a report of done ends the run", "[track]") {
  const TrackRun run;
  track::report({{"x", 1}});
  SECTION("with a result") { track::report({{"x", 2}, {"done", true}}, save_nothing); }
  SECTION("alone") { track::report({{"done", true}}); }
  CHECK(track::should_stop());
  CHECK_THROWS_AS(track::report({{"x", 3}}), track::Ended);
  CHECK_THROWS_AS(track::log({{"x", 3}}), track::Ended);
  const TrialResult trial = run.trial();
  CHECK(trial.state == TrialState::terminated);
  CHECK(trial.reason == "reported done");
  const std::vector<Result> history = trial.history();
  CHECK_FALSE(history.front().done);
  if (history.size() == 2) CHECK(history.back().done);
}

TEST_CASE("a metric done that is text is refused and nothing recorded", "[track]") {
  const TrackRun run;
  CHECK_THROWS_AS(track::report({{"done", "yes"}}), std::invalid_argument);
  track::report({{"x", 1}});
  CHECK(run.trial().history().size() == 1);
}

TEST_CASE("init is for one run at a time", "[track]") {
  const TrackRun run;
  CHECK_THAT(refusal_of([] { track::init(); }), Contains("track::init: run run in ") &&
                                                    Contains("is open already") &&
                                                    Contains(run.path().string()));
  track::finish();
  CHECK_NOTHROW(track::finish());
  CHECK_THAT(refusal_of([] {
               track::report({{"x", 1}});
             }),
             Contains("track::report: run run is finished; track::init() starts another"));
  const TrackRun next;
  track::report({{"x", 1}});
  CHECK(next.trial().history().size() == 1);
  CHECK(run.trial().training_iteration == 0);
}

TEST_CASE("track::init refuses what cannot work and leaves nothing behind", "[track]") {
  const test::TemporaryFolder folder;
  const auto refused = [&](const std::function<void(track::Options&)>& change) {
    track::Options options{.name = "run", .storage_path = folder.path().string()};
    change(options);
    const std::string text = refusal_of([&] { track::init(options); });
    CHECK(fs::is_empty(folder.path()));
    return text;
  };
  CHECK_THAT(refused([](auto& o) { o.name = "a/b"; }),
             Contains("name \"a/b\"") && Contains("must be the name of one directory"));
  CHECK_THAT(refused([](auto& o) { o.storage_path = "s3://bucket"; }),
             Contains("storage_path \"s3://bucket\"") && Contains("a path and file://"));
  CHECK_THAT(refused([](auto& o) {
               o.exporters = {"json", "xml"};
             }),
             Contains("exporters") && Contains("\"xml\"") && Contains("json, csv, tensorboard"));
  CHECK_THAT(refused([](auto& o) {
               o.config = {1, 2};
             }),
             Contains("config must be a JSON object, is [1,2]"));
  CHECK_THAT(refused([](auto& o) {
               o.exporters = {"csv", "csv"};
             }),
             Contains("exporters: \"csv\" is there twice"));
  CHECK_THAT(refused([](auto& o) { o.checkpoint.keep_best = 1; }),
             Contains("checkpoint.keep_best is 1, but there is no metric"));
  CHECK_THAT(refused([](auto& o) { o.checkpoint.keep = 0; }),
             Contains("checkpoint.keep must be at least 1, is 0"));
  CHECK_THAT(refused([](auto& o) { o.checkpoint.every = -1; }),
             Contains("checkpoint.every must be at least 0, is -1"));
}

TEST_CASE("a storage path that cannot be used is an error at once", "[track]") {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "x";
  const fs::path storage = folder.path() / "file" / "results";
  CHECK_THAT(refusal_of([&] { track::init({.name = "run", .storage_path = storage.string()}); }),
             Contains((storage / "run").string()) && Contains("Not a directory"));
}

TEST_CASE("a run outside an experiment may do without exporters", "[track]") {
  const TrackRun run({.exporters = {}});
  for (int i = 1; i <= 3; ++i) track::report({{"x", i}});
  CHECK_FALSE(fs::exists(track::context().trial_dir / "result.json"));
  track::finish();
  CHECK(run.trial().training_iteration == 3);
  CHECK(run.trial().metrics == Metrics{{"x", 3}});
}

}  // namespace
}  // namespace tune::runtime
