#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/fsck.hpp>
#include <tune/result_grid.hpp>
#include <tune/track.hpp>

#include "store/journal_reader.hpp"
#include "support/temporary_folder.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

/// A run outside an experiment that saves; ended with the object.
class SavingRun {
 public:
  explicit SavingRun(track::Options options = {}) { init(std::move(options)); }
  ~SavingRun() { track::finish(); }
  SavingRun(const SavingRun&) = delete;
  SavingRun& operator=(const SavingRun&) = delete;

  /// Another start.
  void go_on(track::Options options = {}) const {
    track::finish();
    init(std::move(options));
  }
  [[nodiscard]] fs::path path() const { return folder_.path() / "run"; }
  [[nodiscard]] TrialResult trial() const { return ResultGrid::open(path())[0]; }
  /// "x@2 x@3" of the values that the journal has.
  [[nodiscard]] std::string recorded() const {
    std::string text;
    for (const store::SavedRow& row : store::JournalReader(path()).saves(TrialId(0))) {
      text += (text.empty() ? "" : " ") + row.name + "@" + std::to_string(row.index);
    }
    return text;
  }

 private:
  void init(track::Options options) const {
    options.name = "run";
    options.storage_path = folder_.path().string();
    track::init(options);
  }

  test::TemporaryFolder folder_;
};

void report_with_checkpoint(int x) {
  track::report({{"x", x}}, [x](const fs::path& dir) { std::ofstream(dir / "state") << x; });
}

/// "1:5 2:6" for the iterations 1 and 2 with x = 5 and 6, as result.json has them.
std::string saved_rows_of(const TrialResult& trial) {
  std::string text;
  std::ifstream in(trial.path / "result.json");
  for (std::string row; std::getline(in, row);) {
    const Json json = Json::parse(row);
    text += (text.empty() ? "" : " ") + json.at("training_iteration").dump() + ":" +
            json.at("x").dump();
  }
  return text;
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A line for each.
std::string faults_of(const fs::path& run) {
  std::string text;
  for (const FsckFinding& finding : fsck(run).findings) text += finding.what + '\n';
  return text;
}

std::string save_refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was refused";
}

std::vector<std::string> saved_directories(const fs::path& trial) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(trial / "artifacts", ignored)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

TEST_CASE("a saved value is there, with the index at which it was saved", "[track]") {
  const SavingRun run;
  CHECK(track::index() == 0);
  CHECK_FALSE(track::load("best"));
  track::save("best", {{"loss", 0.5}, {"layers", {1, 2}}});
  track::report({{"x", 1}});
  CHECK(track::index() == 1);
  CHECK(track::load("best")->index == 0);
  CHECK(track::load("best")->value == Json{{"loss", 0.5}, {"layers", {1, 2}}});
  CHECK_FALSE(track::load("best")->files);
  track::save("best", 3);
  track::save("best", 4);
  CHECK(track::load("best")->index == 1);
  CHECK(track::load("best")->value == 4);
  CHECK_FALSE(track::load("Best"));
  run.go_on();
  CHECK(track::index() == 1);
  CHECK(track::load("best")->value == 4);
  CHECK(track::load("best")->index == 1);
}

TEST_CASE("files may be saved beside a value", "[track]") {
  const SavingRun run;
  const auto save_text = [](const std::string& text) {
    track::save("model", text.size(), [&](const fs::path& dir) {
      std::ofstream(dir / "text") << text;
      CHECK(track::index() >= 0);  // a writer may ask
      CHECK_FALSE(track::load("other"));
      CHECK_THAT(save_refusal([] { track::save("other", 1); }), Contains("track::save"));
    });
  };
  const auto loaded_text = [] {
    std::string text;
    std::ifstream(track::load("model").value().files.value() / "text") >> text;
    return text;
  };
  save_text("one");
  CHECK(loaded_text() == "one");
  save_text("two");
  CHECK(loaded_text() == "two");
  track::report({{"x", 1}});
  save_text("three");
  const fs::path trial = run.trial().path;
  CHECK(saved_directories(trial).size() == 1);  // no checkpoint needs the older ones
  run.go_on();
  CHECK(loaded_text() == "three");
  CHECK_THROWS_AS(track::save("model", 0, [](const fs::path&) { throw std::out_of_range("mine"); }),
                  std::out_of_range);
  CHECK(loaded_text() == "three");
  CHECK(saved_directories(trial).size() == 1);

  std::ofstream(track::load("model")->files.value() / "text") << "something else";
  CHECK_THAT(save_refusal([&] { (void)loaded_text(); }),
             Contains("track::load: model") && Contains("damaged"));
}

TEST_CASE("a run keeps copies of files and directories", "[track]") {
  const SavingRun run;
  const test::TemporaryFolder work;
  const fs::path file = work.path() / "curve.txt";
  const fs::path directory = work.path() / "plots";
  fs::create_directories(directory / "deep");
  std::ofstream(file) << "one";
  std::ofstream(directory / "deep" / "plot") << "a plot";
  track::report({{"x", 1}});
  track::artifact(file);
  track::artifact(directory / "");
  track::artifact(file, "other");
  std::ofstream(file) << "two";
  const fs::path trial = run.trial().path;
  CHECK(text_of(trial / "artifacts/curve.txt_000001/curve.txt") == "one");
  CHECK(text_of(trial / "artifacts/plots_000001/deep/plot") == "a plot");
  CHECK(run.recorded() == "curve.txt@1 other@1 plots@1");

  track::report({{"x", 2}});
  track::artifact(file);
  run.go_on();
  const auto loaded = track::load("curve.txt");
  REQUIRE(loaded);
  CHECK(loaded->value.is_null());
  CHECK(loaded->index == 2);
  CHECK(text_of(loaded->files.value() / "curve.txt") == "two");
  CHECK(saved_directories(trial).size() == 3);  // the older one is not needed any more
  CHECK(faults_of(run.path()).empty());
}

TEST_CASE("a file that a run cannot keep is refused", "[track]") {
  const SavingRun run;
  const test::TemporaryFolder work;
  const std::string absent = (work.path() / "absent").string();
  CHECK(save_refusal([&] { track::artifact(absent); }) ==
        "track::artifact: " + absent + ": No such file or directory");
  CHECK_THAT(save_refusal([&] { track::artifact("/dev/null"); }),
             Contains("must be a file or a directory"));
  std::ofstream(work.path() / "a b") << "x";
  CHECK_THAT(save_refusal([&] { track::artifact(work.path() / "a b"); }), Contains("name \"a b\""));
  CHECK_THAT(save_refusal([&] { track::artifact(run.path()); }),
             Contains("its copy would lie within it"));
  CHECK(run.recorded().empty());
  CHECK(saved_directories(run.trial().path).empty());
}

TEST_CASE("files of one's own beside those of saved values stay", "[track]") {
  const SavingRun run;
  track::report({{"x", 1}});
  const fs::path artifacts = run.trial().path / "artifacts";
  fs::create_directories(artifacts / "mine");
  std::ofstream(artifacts / "mine" / "f") << "x";
  std::ofstream(artifacts / "notes_000001") << "x";
  fs::create_directories(artifacts / "lost_000001");  // as a kill leaves them behind
  fs::create_directories(artifacts / ".tmp-x_000001");
  run.go_on();
  CHECK(fs::exists(artifacts / "mine" / "f"));
  CHECK(fs::exists(artifacts / "notes_000001"));
  CHECK_FALSE(fs::exists(artifacts / "lost_000001"));
  CHECK_FALSE(fs::exists(artifacts / ".tmp-x_000001"));
}

TEST_CASE("a check of a run reads the files of its saved values", "[track][fsck]") {
  const SavingRun run;
  track::report({{"x", 1}});
  track::save("model", 1, [](const fs::path& dir) { std::ofstream(dir / "text") << "text"; });
  CHECK(faults_of(run.path()).empty());
  std::ofstream(track::load("model")->files.value() / "text") << "another";
  const FsckReport report = fsck(run.path());
  REQUIRE_FALSE(report.findings.empty());
  CHECK_THAT(report.findings[0].what, Contains("saved value model") && Contains("damaged"));
}

TEST_CASE("what a run has saved beyond its checkpoint is dropped as its results are", "[track]") {
  const SavingRun run;
  track::save("step", 0);
  for (int i = 1; i <= 4; ++i) {
    if (i <= 2) {
      report_with_checkpoint(i);
    } else {
      track::report({{"x", i}});
    }
    track::save("step", i, [](const fs::path& dir) { std::ofstream(dir / "f") << "x"; });
  }
  CHECK(run.recorded() == "step@2 step@4");
  run.go_on();
  CHECK(track::index() == 2);
  CHECK(track::load("step")->value == 2);
  CHECK(run.recorded() == "step@2 step@4");
  track::report({{"x", 30}});
  CHECK(run.recorded() == "step@2");
  CHECK(saved_directories(run.trial().path) == std::vector<std::string>{"step_000002"});
  CHECK(saved_rows_of(run.trial()) == "1:1 2:2 3:30");
  CHECK(faults_of(run.path()).empty());
}

TEST_CASE("a run goes back to where its code wants to", "[track]") {
  const SavingRun run({.checkpoint = {.keep = 9}});
  for (int i = 1; i <= 4; ++i) {
    report_with_checkpoint(i);
    track::save("step", i);
  }
  SECTION("in the program that has reported it") {}
  SECTION("in another one") { run.go_on({.checkpoint = {.keep = 9}}); }
  track::restore(2);
  CHECK(track::index() == 2);
  CHECK(track::load("step")->value == 2);
  CHECK(saved_rows_of(run.trial()) == "1:1 2:2 3:3 4:4");  // until the next report
  report_with_checkpoint(30);
  CHECK(saved_rows_of(run.trial()) == "1:1 2:2 3:30");
  CHECK(run.recorded() == "step@1 step@2");
  std::vector<std::int64_t> checkpoints;
  for (const Checkpoint& checkpoint : run.trial().checkpoints) {
    checkpoints.push_back(checkpoint.training_iteration);
  }
  CHECK(checkpoints == std::vector<std::int64_t>{1, 2, 3});
  track::restore(0);
  CHECK_FALSE(track::load("step"));
  track::report({{"x", 10}});
  CHECK(saved_rows_of(run.trial()) == "1:10");
  CHECK(faults_of(run.path()).empty());
  CHECK(run.recorded().empty());
  CHECK(run.trial().checkpoints.empty());
}

TEST_CASE("a run that goes back and ends has not gone back", "[track]") {
  const SavingRun run;
  for (int i = 1; i <= 3; ++i) track::report({{"x", i}});
  track::restore(1);
  run.go_on();
  CHECK(track::index() == 3);
  CHECK(saved_rows_of(run.trial()) == "1:1 2:2 3:3");
}

TEST_CASE("what cannot be saved or gone back to is refused", "[track]") {
  const SavingRun run;
  track::report({{"x", 1}});
  for (const char* name : {"", "a/b", ".hidden", "a b", ".."}) {
    CHECK_THROWS_AS(track::save(name, 1), std::invalid_argument);
  }
  const std::string large((1U << 20U) - 2, 'x');  // and two quotes
  CHECK_THAT(save_refusal([&] { track::save("large", large + "x"); }),
             Contains("large") && Contains("1048577 bytes") && Contains("writer"));
  for (int i = 1; i <= 8; ++i) track::save("large" + std::to_string(i), large);
  CHECK_THAT(save_refusal([&] { track::save("another", 1); }),
             Contains("another") && Contains("all values together"));
  track::save("large1", 1);
  track::save("another", 1);
  CHECK_THAT(save_refusal([] { track::restore(2); }), Contains("index 2") && Contains("from 0"));
  CHECK_THROWS_AS(track::restore(-1), std::invalid_argument);
  CHECK(saved_rows_of(run.trial()) == "1:1");
}

}  // namespace
}  // namespace tune::runtime
