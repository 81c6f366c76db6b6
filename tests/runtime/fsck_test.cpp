#include <tune/fsck.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <catch2/catch.hpp>

#include <tune/schedulers/asha.hpp>

#include "run_support.hpp"
#include "store/journal_reader.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

std::string text_of(const FsckReport& report) {
  std::ostringstream text;
  report.print(text);
  return text.str();
}

/// Fails once, in step 4.
class DescentWithFall final : public Descent {
 public:
  Metrics step() override {
    if (++step_ == 4 && context().incarnation == 1) throw std::runtime_error("on purpose");
    return Descent::step();
  }

 private:
  int step_ = 0;
};

Experiment checked_experiment(const TemporaryFolder& folder) {
  Experiment experiment = small_experiment(folder);
  experiment.isolation = Isolation::threads;
  experiment.space = {{"x", grid_search({1.0, 2.0, 4.0})}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.scheduler = asha({.max_t = 6, .grace_period = 3, .reduction_factor = 2});
  experiment.max_concurrent = 1;
  experiment.checkpoint = {.every = 2, .keep = 2};
  experiment.exporters = {"json", "csv", "tensorboard"};
  return experiment;
}

/// An experiment that has ended, of its own for each test: 3 trials, of which the first came to 6
/// iterations after a failure.
class EndedExperiment {
 public:
  EndedExperiment() {
    Experiment experiment = checked_experiment(folder_);
    experiment.failure.max_failures = 1;
    (void)tune_run<DescentWithFall>(experiment);
  }
  [[nodiscard]] fs::path path() const { return folder_.path() / "run"; }
  [[nodiscard]] fs::path trial(const std::string& name = "00000_x=1") const {
    return path() / name;
  }
  void sql(const std::string& statement) const {
    SQLite::Database(path() / "experiment.db", SQLite::OPEN_READWRITE).exec(statement);
  }
  /// As if it had been killed instead of coming to its end.
  void look_killed() const { sql("UPDATE sessions SET ended = NULL, reason = NULL"); }
  [[nodiscard]] fs::path event_file() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(trial())) {
      if (entry.path().filename().string().starts_with("events.")) files.push_back(entry.path());
    }
    return *std::max_element(files.begin(), files.end());
  }

 private:
  TemporaryFolder folder_;
};

void write_lines(const fs::path& file, const std::vector<std::string>& lines) {
  std::ofstream out(file, std::ios::binary);
  for (const std::string& line : lines) out << line << '\n';
}

void change_byte(const fs::path& file, std::int64_t place, char byte) {
  REQUIRE(fs::exists(file));
  std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(place);
  out.put(byte);
}

TEST_CASE("an experiment that has ended is sound", "[fsck]") {
  const EndedExperiment experiment;
  const FsckReport report = fsck(experiment.path());
  INFO(text_of(report));
  CHECK(report.is_sound());
  CHECK(report.findings.empty());
  CHECK(report.state == FsckReport::State::ended);
  CHECK(report.is_replayed);
  CHECK(report.trials == 3);
  CHECK(report.results == 12);
  CHECK(report.checkpoints == 4);
  CHECK(report.files == 10);  // one trial has two event files
  CHECK_THAT(text_of(report), Contains("3 trials, 12 results") && Contains("\nsound\n"));
}

/// A fault that is made, and what is said of it.
struct Planted {
  std::string what;
  std::string found;
};

TEST_CASE("fsck names what is wrong in the journal", "[fsck]") {
  const auto planted = GENERATE(values<Planted>({
      {"DELETE FROM events WHERE number = 5", "event 5 is missing"},
      {"UPDATE events SET time = 1e9 WHERE number = 5", "event 6 is earlier"},
      {"UPDATE sessions SET first_event = 3", "begins a session that is not on record"},
      {"UPDATE sessions SET number = 2", "session 2: want 1"},
      {"UPDATE sessions SET terminated_trials = 2", "2 trials were terminated, on record are 3"},
      {"UPDATE trials SET state = 'running' WHERE id = 1", "trial 1: it is running"},
      {"UPDATE events SET trial = 9 WHERE kind = 'suggestion' AND trial = 1",
       "trial 1: no event suggested it"},
      {"UPDATE all_results SET previous = (SELECT r.previous FROM all_results r WHERE r.id = "
       "all_results.previous) WHERE trial = 1 AND training_iteration = 3",
       "trial 1: after iteration 1 comes 3"},
      {"UPDATE all_results SET training_iteration = 1 WHERE trial = 1 AND training_iteration = 2",
       "trial 1: after iteration 1 comes 1"},
      {"UPDATE all_results SET incarnation = 9 WHERE trial = 1",
       "trial 1: iteration 1 is of start 9"},
      {"UPDATE all_results SET done = 1 WHERE trial = 1 AND training_iteration = 2",
       "trial 1: iteration 2 is done, and is not the last"},
      {"UPDATE all_results SET time_total_s = 0 WHERE trial = 1 AND training_iteration = 3",
       "trial 1: time_total_s goes back at iteration 3"},
      {"UPDATE trials SET last_result = 123456 WHERE id = 1", "no result 123456"},
      {"UPDATE all_results SET id = -7, previous = NULL WHERE trial = 1 AND training_iteration = 1",
       "the result of this number is missing"},
      {"UPDATE checkpoints SET event = 1 WHERE trial = 1",
       "trial 1: checkpoint_000002 was recorded with event 1, before event"},
      {"UPDATE checkpoints SET training_iteration = 99 WHERE trial = 1",
       "checkpoint_000002 is on record, and iteration 99 is not"},
      {"DELETE FROM trials WHERE id = 1", "there is no trial 1"},
      {"UPDATE trials SET reason = 'bored' WHERE id = 1",
       "trial 1: not as a replay of the events has it: it is terminated (bored)"},
      {"UPDATE all_results SET done = 0 WHERE trial = 1",
       "iteration 3 would be of start 1 and done"},
      {"UPDATE checkpoints SET kept = 0 WHERE trial = 1", "checkpoint_000002 is not kept"},
      {"DELETE FROM starts WHERE trial = 1", "trial 1: iteration 1 is of start 1"},
      {"PRAGMA user_version = 99", "schema version 99"},
      {"UPDATE events SET body = '{' WHERE kind = 'session_started'", "parse error"},
  }));
  CAPTURE(planted.what);
  const EndedExperiment experiment;
  experiment.sql(planted.what);
  const FsckReport report = fsck(experiment.path());
  CHECK_FALSE(report.is_sound());
  CHECK_THAT(text_of(report), Contains(planted.found));
}

TEST_CASE("fsck finds a damaged journal, and one that is not there", "[fsck]") {
  const EndedExperiment experiment;
  const fs::path journal = experiment.path() / "experiment.db";
  SECTION("damaged pages") {
    for (std::int64_t page = 2; page < 16; ++page) {
      for (std::int64_t i = 0; i < 64; ++i) change_byte(journal, page * 4096 + i, '\x7f');
    }
  }
  SECTION("cut") { fs::resize_file(journal, 3); }
  SECTION("gone") { fs::remove(journal); }
  const FsckReport report = fsck(experiment.path());
  CHECK_FALSE(report.is_sound());
  CHECK_THAT(text_of(report), Contains(journal.string()));
}

/// The same for files.
struct PlantedInFiles {
  std::string what;
  std::function<void(const EndedExperiment&)> plant;
  std::string found;
};

void check_found(const PlantedInFiles& planted) {
  CAPTURE(planted.what);
  const EndedExperiment experiment;
  planted.plant(experiment);
  const FsckReport report = fsck(experiment.path());
  CHECK_FALSE(report.is_sound());
  CHECK_THAT(text_of(report), Contains(planted.found));
}

TEST_CASE("fsck finds checkpoints that are not as they were stored", "[fsck]") {
  using E = EndedExperiment;
  const std::vector<PlantedInFiles> all = {
      {"no directory", [](const E& e) { fs::remove_all(e.trial() / "checkpoint_000004"); },
       "checkpoint_000004 of trial 00000 is damaged"},
      {"no file", [](const E& e) { fs::remove(e.trial() / "checkpoint_000004/state"); },
       "state is missing"},
      {"a byte", [](const E& e) { change_byte(e.trial() / "checkpoint_000004/state", 0, '7'); },
       "checkpoint_000004: checkpoint_000004 of trial 00000 is damaged: state: content"},
      {"cut", [](const E& e) { fs::resize_file(e.trial() / "checkpoint_000004/state", 1); },
       "state: 1 bytes"},
      {"another", [](const E& e) { fs::create_directory(e.trial() / "checkpoint_000003"); },
       "checkpoint_000003: left over of a checkpoint"},
      {"half one",
       [](const E& e) { fs::create_directory(e.trial() / ".tmp-checkpoint_000003-1-1"); },
       ".tmp-checkpoint_000003-1-1: left over"},
      {"a trial", [](const E& e) { fs::create_directory(e.path() / "00009_x=1"); },
       "00009_x=1: the directory of a trial that is not on record"},
  };
  for (const PlantedInFiles& planted : all) check_found(planted);
}

TEST_CASE("fsck finds exports that do not agree with the journal", "[fsck]") {
  using E = EndedExperiment;
  using Lines = std::vector<std::string>;
  const auto in_lines = [](const char* name, const std::function<void(Lines&)>& change) {
    return [name = std::string(name), change](const E& e) {
      Lines lines = read_lines(e.trial() / name);
      change(lines);
      write_lines(e.trial() / name, lines);
    };
  };
  const auto replace = [](std::string& line, const std::string& old, const std::string& text) {
    line.replace(line.find(old), old.size(), text);
  };
  const std::vector<PlantedInFiles> all = {
      {"no json", [](const E& e) { fs::remove(e.trial() / "result.json"); },
       "result.json: it is missing"},
      {"a cut json", [](const E& e) { fs::resize_file(e.trial() / "result.json", 1500); },
       "result.json: it lacks the last"},
      {"a line twice", in_lines("result.json", [](Lines& l) { l.insert(l.begin() + 2, l[1]); }),
       "result.json: iteration 2 where iteration 3 must be"},
      {"a line too many",
       in_lines("result.json",
                [&](Lines& l) {
                  l.push_back(l.back());
                  replace(l.back(), "\"training_iteration\":6", "\"training_iteration\":7");
                }),
       "result.json: iteration 7 is there, and the journal ends before"},
      {"no line 3", in_lines("result.json", [](Lines& l) { l.erase(l.begin() + 2); }),
       "result.json: iteration 4 where iteration 3 must be"},
      {"another metric",
       in_lines("result.json", [&](Lines& l) { replace(l[0], "\"loss\":0.5", "\"loss\":0.25"); }),
       "result.json: iteration 1 has loss 0.25, want 0.5"},
      {"a foreign metric",
       in_lines("result.json", [&](Lines& l) { replace(l[0], "\"loss\"", "\"los\":1,\"loss\""); }),
       "result.json: iteration 1 has los, which was not reported"},
      {"no JSON", in_lines("result.json", [](Lines& l) { l[2] = "{"; }), "result.json: line 3"},
      {"no csv", [](const E& e) { fs::remove(e.trial() / "progress.csv"); },
       "progress.csv: it is missing"},
      {"a row twice", in_lines("progress.csv", [](Lines& l) { l.insert(l.begin() + 2, l[1]); }),
       "progress.csv: iteration 1 where iteration 2 must be"},
      {"a cell too many", in_lines("progress.csv", [](Lines& l) { l[1].insert(0, "1,"); }),
       "progress.csv: row 1: "},
      {"another cell", in_lines("progress.csv", [](Lines& l) { l[1].replace(0, 3, "0.7"); }),
       "progress.csv: iteration 1 has loss 0.7, want 0.5"},
      {"a cut csv", [](const E& e) { fs::resize_file(e.trial() / "progress.csv", 800); },
       "progress.csv: it lacks the last"},
      {"no events", [](const E& e) { fs::remove(e.event_file()); },
       "events.out.tfevents.*: it lacks the last 3 results"},
      {"a byte of events", [](const E& e) { change_byte(e.event_file(), 100, '!'); }, "wrong CRC"},
      {"cut events",
       [](const E& e) { fs::resize_file(e.event_file(), fs::file_size(e.event_file()) - 150); },
       "events.out.tfevents.*: it"},
  };
  for (const PlantedInFiles& planted : all) check_found(planted);
}

TEST_CASE("what a kill leaves is noted, and is no fault", "[fsck]") {
  const EndedExperiment experiment;
  experiment.look_killed();
  fs::remove(experiment.trial() / "progress.csv");
  fs::resize_file(experiment.trial() / "result.json", 1500);
  fs::create_directory(experiment.trial() / ".tmp-checkpoint_000006-1-1");
  const FsckReport report = fsck(experiment.path());
  INFO(text_of(report));
  CHECK(report.state == FsckReport::State::killed);
  CHECK(report.findings.size() == 3);
  CHECK(report.is_sound());
}

TEST_CASE("the exports of a killed experiment may be older than the journal, and never else",
          "[fsck]") {
  const EndedExperiment experiment;
  // As they stood before the trial went back to iteration 2: with the third of its first start.
  std::vector<Result> taken;
  store::JournalReader(experiment.path())
      .for_each_taken_result(TrialId{0},
                             [&](const store::LineResult& line) { taken.push_back(line.result); });
  REQUIRE(taken.size() == 7);
  const fs::path file = experiment.trial() / "result.json";
  std::vector<std::string> lines = read_lines(file);
  lines.resize(3);
  Json row = Json::parse(lines[2]);
  row["time_total_s"] = taken[2].time_total_s;
  lines[2] = row.dump();
  SECTION("as it was") {
    write_lines(file, lines);
    CHECK_FALSE(fsck(experiment.path()).is_sound());
    experiment.look_killed();
    const FsckReport report = fsck(experiment.path());
    INFO(text_of(report));
    CHECK(report.is_sound());
    CHECK_THAT(text_of(report), Contains("iterations that were reported again since"));
  }
  SECTION("as it never was") {
    lines.erase(lines.begin() + 1);
    write_lines(file, lines);
    experiment.look_killed();
    CHECK_FALSE(fsck(experiment.path()).is_sound());
  }
}

/// Checks the experiment while it runs.
class ChecksWhileItRuns final : public Callback {
 public:
  void on_experiment_start(const ExperimentInfo& experiment) override { path_ = experiment.path; }
  void on_trial_result(const TrialInfo&, const Result&) override {
    const FsckReport report = fsck(path_);
    if (report.state == FsckReport::State::running && report.is_sound()) ++sound;
    text += text_of(report);
    ++looks;
  }
  int looks = 0;
  int sound = 0;
  std::string text;

 private:
  fs::path path_;
};

TEST_CASE("an experiment can be checked while it runs", "[fsck]") {
  const TemporaryFolder folder;
  Experiment experiment = checked_experiment(folder);
  experiment.max_concurrent = 2;
  const auto checks = std::make_shared<ChecksWhileItRuns>();
  experiment.callbacks = {checks};
  (void)tune_run<Descent>(experiment);
  INFO(checks->text);
  CHECK(checks->looks >= 12);
  CHECK(checks->sound == checks->looks);
}

/// A scheduler that nobody has registered.
class ProceedsAlways final : public TestScheduler {
 public:
  Decision on_trial_result(SchedulerContext&, const Trial&, const Result&) override {
    return Decision::proceed;
  }
};

TEST_CASE("what cannot be replayed here is noted", "[fsck]") {
  const TemporaryFolder folder;
  Experiment experiment = checked_experiment(folder);
  experiment.stop = {{"training_iteration", 3}};
  experiment.scheduler = std::make_unique<ProceedsAlways>();
  const ResultGrid results = tune_run<Descent>(experiment);
  const FsckReport report = fsck(results.path());
  INFO(text_of(report));
  CHECK(report.is_sound());
  CHECK_FALSE(report.is_replayed);
  CHECK_THAT(text_of(report), Contains("note: ") && Contains("not replayed"));
  CHECK(fsck(results.path(), {.replays = false}).findings.empty());
}

}  // namespace
}  // namespace tune::test
