#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "hub_run.hpp"
#include "support/event_records.hpp"
#include "support/limits.hpp"

// What becomes of files that are missing, cut, or whole.

namespace tune {
namespace {

using test::file_text;
using test::HubRun;

using FileState = std::pair<std::string, std::filesystem::file_time_type>;

// All files below a directory: what is in them, and when it was written.
std::map<std::string, FileState> files_below(const std::filesystem::path& directory) {
  std::map<std::string, FileState> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    files[entry.path().lexically_relative(directory)] = {file_text(entry.path()),
                                                         entry.last_write_time()};
  }
  return files;
}

// Trial 0, with a failure, a checkpoint of its last iteration, and text that is hard on CSV.
void write_trial(HubRun& run) {
  run.run(0, {{"lr", 0.5}, {"clip", test::inf}});
  run.report(0, {{"loss", 4.0}, {"note", "a\r\nb"}});
  run.report(0, {{"loss", 3.0}, {"note", "\"quoted\""}});
  run.state(0, TrialState::pending, "tried again", "it broke");
  run.start(0, 1);
  run.report(0, {{"loss", 2.0}, {"note", ""}});
  run.report(0, {{"loss", test::nan}, {"note", "x,\r\ny,\r\n"}, {"late", true}});
  run.checkpoint(0, 3);
}

void check_restored(const HubRun& run, const std::filesystem::path& original) {
  for (const char* name : {"params.json", "result.json", "progress.csv"}) {
    INFO(name);
    CHECK(file_text(run.trial_path(0) / name) == file_text(original / name));
  }
  CHECK(test::shown_events(run.trial_path(0)) == test::shown_events(original));
}

void cut_file(const std::filesystem::path& file, std::uintmax_t size_bytes) {
  std::filesystem::resize_file(file, size_bytes);
}

std::filesystem::path newest_event_file(const std::filesystem::path& trial) {
  return test::event_files(trial).back();
}

TEST_CASE("RE-04, RE-09: whole files of trials that have ended are not touched", "[RE-04][RE-09]") {
  HubRun run;
  write_trial(run);
  const bool fails = GENERATE(false, true);
  fails ? run.fail(0, "it broke for good") : run.complete(0);
  run.run(1, {{"lr", 0.25}});
  run.complete(1);  // without a result
  run.add(2);
  run.fail(2, "never started");
  run.run(3);
  run.report(3, {{"loss", 1.0}});
  run.state(3, TrialState::pending, "", "it broke");
  run.end();
  std::map<std::string, FileState> before;
  run.kill_and_resume([&](const std::filesystem::path& path) { before = files_below(path); });
  run.hub().idle();
  std::map<std::string, FileState> after = files_below(run.path());
  for (auto* files : {&before, &after}) {
    std::erase_if(*files, [&](const auto& file) {
      return file.first == "driver.log" || file.first == "experiment.json" ||
             file.first.starts_with("00003/");
    });
  }
  CHECK(before == after);
  CHECK(run.journal().lines_read == 2);  // of trial 3
}

TEST_CASE("RE-07: exports that were cut or lost are made again", "[RE-07]") {
  HubRun run;
  write_trial(run);
  const bool goes_on = GENERATE(false, true);
  if (!goes_on) run.complete(0);
  run.end();
  const std::filesystem::path original = run.trial_path(0);
  const HubRun::Damage damage = GENERATE(
      HubRun::Damage([](const std::filesystem::path& path) {
        for (const char* name : {"result.json", "progress.csv"}) cut_file(path / name, 0);
      }),
      HubRun::Damage([](const std::filesystem::path& path) {
        for (const char* name : {"result.json", "progress.csv", "params.json"}) {
          std::filesystem::remove(path / name);
        }
        for (const auto& file : test::event_files(path)) std::filesystem::remove(file);
      }),
      HubRun::Damage([](const std::filesystem::path& path) {
        cut_file(test::event_files(path).front(), 0);
        std::filesystem::remove(test::event_files(path).front());
      }),
      HubRun::Damage([](const std::filesystem::path& path) {
        cut_file(newest_event_file(path), 0);
        cut_file(path / "params.json", 3);
      }),
      HubRun::Damage([](const std::filesystem::path& path) { std::filesystem::remove_all(path); }));
  run.kill_and_resume([&](const std::filesystem::path& experiment) {
    damage(experiment / original.filename());
    cut_file(experiment / "experiment.json", 0);
  });
  if (goes_on) run.end();
  REQUIRE_FALSE(run.hub().storage_error());
  check_restored(run, original);
  CHECK(Json::parse(file_text(run.path() / "experiment.json")).at("experiment_id") == "e1d2");
}

TEST_CASE("RE-07: a last row cut anywhere is made again", "[RE-07]") {
  HubRun run;
  write_trial(run);
  const bool goes_on = GENERATE(false, true);
  if (!goes_on) run.complete(0);
  run.end();
  const std::filesystem::path original = run.trial_path(0);
  const std::string name = GENERATE("result.json", "progress.csv");
  const std::string text = file_text(original / name);
  const std::size_t last_row =
      name == "result.json" ? text.rfind('\n', text.size() - 2) + 1 : text.find("nan,\"x,\r\n");
  REQUIRE(last_row < text.size());
  for (std::size_t size_bytes = last_row; size_bytes < text.size(); ++size_bytes) {
    INFO(name << " cut to " << size_bytes << " of " << text.size() << " bytes");
    run.kill_and_resume([&](const std::filesystem::path& experiment) {
      cut_file(experiment / original.filename() / name, size_bytes);
    });
    run.hub().idle();
    REQUIRE(file_text(run.trial_path(0) / name) == text);
  }
  run.end();
  check_restored(run, original);
}

TEST_CASE("RE-07: an event file cut anywhere in its last records is made again", "[RE-07]") {
  HubRun run({"tensorboard"});
  write_trial(run);
  run.complete(0);
  run.end();
  const std::filesystem::path original = run.trial_path(0);
  const auto expected = test::shown_events(original);
  const auto size_bytes = std::filesystem::file_size(newest_event_file(original));
  const auto records = test::event_records(newest_event_file(original));
  const std::size_t tail = records.back().size() + records[records.size() - 2].size() + 32;
  for (std::uintmax_t cut_bytes = 1; cut_bytes <= tail; ++cut_bytes) {
    INFO("cut by " << cut_bytes << " bytes");
    HubRun other({"tensorboard"});
    write_trial(other);
    other.complete(0);
    other.kill_and_resume([&](const std::filesystem::path& experiment) {
      cut_file(newest_event_file(experiment / original.filename()), size_bytes - cut_bytes);
    });
    REQUIRE(test::shown_events(other.trial_path(0)) == expected);
  }
}

TEST_CASE("a row without its checkpoint's name is made again", "[restore]") {
  HubRun run;
  write_trial(run);
  run.complete(0);
  const std::filesystem::path original = run.trial_path(0);
  run.kill_and_resume([&](const std::filesystem::path& experiment) {
    for (const char* name : {"result.json", "progress.csv"}) {
      const std::filesystem::path file = experiment / original.filename() / name;
      std::string text = file_text(file);
      const std::string quoted =
          name == std::string("result.json") ? "\"checkpoint_000003\"" : "checkpoint_000003";
      text.replace(text.find(quoted), quoted.size(), quoted[0] == '"' ? "null" : "");
      report::write_file(file, text);
    }
  });
  check_restored(run, original);
}

TEST_CASE("a trial that ended in the journal but not in its files is made whole", "[restore]") {
  HubRun expected;
  write_trial(expected);
  expected.complete(0);
  HubRun run;
  write_trial(run);
  run.hub().idle();
  // The journal had it, the exporters had not.
  run.journal().state(TrialId(0), TrialState::terminated, "trainable finished", "");
  run.kill_and_resume();
  check_restored(run, expected.trial_path(0));
}

TEST_CASE("long rows, and files of one row, are seen to be whole", "[restore]") {
  HubRun run;
  const std::string text(GENERATE(std::size_t{10}, std::size_t{5000}, std::size_t{300'000}), '\n');
  run.run(0, {{"text", text}});
  const int results = GENERATE(1, 3);
  for (int i = 0; i < results; ++i) run.report(0, {{"note", "\r\n" + text}});
  run.complete(0);
  run.kill_and_resume();
  CHECK(run.journal().lines_read == 0);
}

TEST_CASE("an exporter that is new at a resume writes the files of all trials", "[restore]") {
  HubRun expected;
  write_trial(expected);
  expected.complete(0);
  HubRun run({"json"});
  write_trial(run);
  run.complete(0);
  run.set_exporters({"json", "csv", "tensorboard"});
  run.kill_and_resume();
  check_restored(run, expected.trial_path(0));
}

/// No file grows beyond it, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t size_bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &previous_);
    rlimit lowered = previous_;
    lowered.rlim_cur = size_bytes;
    setrlimit(RLIMIT_FSIZE, &lowered);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &previous_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit previous_{};
  void (*handler_)(int);
};

void report_many(HubRun& run) {
  run.run(0);
  for (int i = 0; i < 50; ++i) run.report(0, {{"loss", i}});
  run.hub().idle();
  run.checkpoint(0, 50);
  for (int i = 50; i < 100; ++i) run.report(0, {{"loss", i}});
}

TEST_CASE("a full disk is reported with the path, and a later resume makes the files whole",
          "[restore]") {
  HubRun expected;
  report_many(expected);
  expected.complete(0);
  HubRun run;
  const bool fails_at_restore = GENERATE(false, true);
  report_many(run);
  {
    const FileSizeLimit full(20'000);
    if (fails_at_restore) {
      run.kill_and_resume([&](const std::filesystem::path& experiment) {
        std::filesystem::remove(experiment / run.results()[0].name / "result.json");
      });
    }
    run.hub().idle();
    REQUIRE(run.hub().storage_error());
    CHECK(run.hub().storage_error()->find(run.trial_path(0).string()) != std::string::npos);
    CHECK(run.hub().storage_error()->find("File too large") != std::string::npos);
    // What is there is whole rows.
    CHECK(test::json_lines(run.trial_path(0) / "result.json").size() <= 50);
    run.end({0, 0, 1, "a fault of the storage", ""});
    CHECK(run.hub().storage_error()->find("File too large") != std::string::npos);
  }
  run.kill_and_resume();
  run.complete(0);
  run.end();
  CHECK_FALSE(run.hub().storage_error());
  check_restored(run, expected.trial_path(0));
}

TEST_CASE("a file that takes nothing is replaced at a later resume", "[restore]") {
  const std::string name = GENERATE("result.json", "driver.log");
  HubRun expected;
  write_trial(expected);
  expected.complete(0);
  HubRun run;
  const bool is_log = name == "driver.log";
  const std::filesystem::path directory =
      is_log ? run.path() : run.path() / expected.trial_path(0).filename();
  const std::filesystem::path file = directory / name;
  std::filesystem::create_directories(directory);
  std::filesystem::remove(file);
  std::filesystem::create_symlink("/dev/full", file);
  write_trial(run);
  run.hub().idle();
  REQUIRE(run.hub().storage_error());
  CHECK(run.hub().storage_error()->find(file.string()) != std::string::npos);
  CHECK(run.hub().storage_error()->find("No space left") != std::string::npos);
  run.kill_and_resume([&](const std::filesystem::path& experiment) {
    if (is_log) std::filesystem::remove(experiment / name);
  });
  run.complete(0);
  run.end();
  CHECK_FALSE(run.hub().storage_error());
  check_restored(run, expected.trial_path(0));
}

TEST_CASE("a directory that is deleted while the trial runs is an error; a resume makes it again",
          "[restore]") {
  HubRun run;
  write_trial(run);
  run.hub().idle();
  const bool is_all = GENERATE(false, true);
  if (is_all) {
    std::filesystem::remove_all(run.trial_path(0));
  } else {
    std::filesystem::remove(run.trial_path(0) / "progress.csv");
  }
  CHECK_FALSE(run.hub().storage_error());
  run.report(0, {{"loss", 1.0}});
  run.hub().idle();
  REQUIRE(run.hub().storage_error());
  CHECK(run.hub().storage_error()->find(run.trial_path(0).string()) != std::string::npos);
  CHECK(std::filesystem::exists(run.trial_path(0) / "result.json") != is_all);
  CHECK_FALSE(std::filesystem::exists(run.trial_path(0) / "progress.csv"));

  run.kill_and_resume();
  run.start(0, 3);
  run.report(0, {{"loss", 0.5}});
  run.complete(0);
  run.end();
  CHECK_FALSE(run.hub().storage_error());
  CHECK(test::json_lines(run.trial_path(0) / "result.json").size() == 4);
  CHECK(test::CsvTable(run.trial_path(0) / "progress.csv").rows() == 4);
  CHECK(steps(test::shown_events(run.trial_path(0))) == std::vector<std::int64_t>{1, 2, 3, 4});
}

}  // namespace
}  // namespace tune
