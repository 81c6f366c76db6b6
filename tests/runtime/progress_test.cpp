#include <tune/progress.hpp>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/searchers/random.hpp>
#include <tune/track.hpp>

#include "captured_output.hpp"
#include "run_support.hpp"
#include "support/pseudo_terminal.hpp"
#include "support/skip.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

void report_four(const Config& config) {
  double x = config["x"].get<double>();
  for (int i = 0; i < 4; ++i) track::report({{"loss", x /= 2}});
}

void fail_at_once(const Config&) { throw std::runtime_error("on purpose"); }

Experiment shown_experiment(const TemporaryFolder& folder, int verbosity) {
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", uniform(1, 2)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.num_samples = 5;
  experiment.verbosity = verbosity;
  return experiment;
}

std::size_t count_lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_CASE("at verbosity 0 nothing is printed", "[progress]") {
  const TemporaryFolder folder;
  const auto [out, err] =
      output_of([&] { (void)tune_run(report_four, shown_experiment(folder, 0)); });
  CHECK(out.empty());
  CHECK(err.empty());
}

TEST_CASE("where stderr is no terminal there are plain lines and a summary", "[progress]") {
  const TemporaryFolder folder;
  std::optional<ResultGrid> results;
  const auto [out, err] =
      output_of([&] { results = tune_run(report_four, shown_experiment(folder, 1)); });
  CHECK(out.empty());
  INFO(err);
  CHECK(err.find('\x1b') == std::string::npos);
  const std::string path = (folder.path() / "run").string();
  CHECK(err.starts_with("tune: run, 5 trials, results in " + path + "\n"));
  CHECK(err.find("5 trials in ") != std::string::npos);
  CHECK(err.find("5 terminated\n         5 trainable finished\n") != std::string::npos);
  CHECK(err.find("config   " + results->best().config.dump() + "\n") != std::string::npos);
  CHECK(err.ends_with("results  " + path + "\n"));
}

TEST_CASE("at verbosity 2 there is a line for each start and end", "[progress]") {
  const TemporaryFolder folder;
  const auto [out, err] =
      output_of([&] { (void)tune_run(report_four, shown_experiment(folder, 2)); });
  INFO(err);
  for (int i = 0; i < 5; ++i) {
    const std::string trial = "tune: trial 0000" + std::to_string(i);
    CHECK(err.find(trial + " starts: x=1.") != std::string::npos);
    CHECK(err.find(trial + " ends after iteration 4 with loss 0.") != std::string::npos);
  }
}

TEST_CASE("FA-04: the display copes with a search in which every trial fails", "[FA-04]") {
  const TemporaryFolder folder;
  Experiment experiment = shown_experiment(folder, 1);
  experiment.num_samples = 10;
  const auto [out, err] = output_of([&] { (void)tune_run(fail_at_once, experiment); });
  INFO(err);
  CHECK(err.find("10 error") != std::string::npos);
  CHECK(err.find("best     none: no trial has a finite loss") != std::string::npos);
  CHECK(err.find("on purpose") != std::string::npos);
  CHECK(err.find("and 5 more") != std::string::npos);
  const std::size_t begin = err.find(folder.path().string(), err.find("on purpose"));
  const std::string path = err.substr(begin, err.find('\n', begin) - begin);
  CHECK(path.ends_with("error.txt"));
  CHECK(std::filesystem::exists(path));
}

/// Keeps what it is told.
class KeepingReporter : public ProgressReporter {
 public:
  void report(const Progress& progress, bool is_last) override {
    reports.push_back(progress);
    is_ended_first = is_ended_first || (is_last && !is_experiment_ended_);
    last_reports += is_last ? 1 : 0;
  }
  void on_experiment_end(const ExperimentInfo&, const ExperimentEnd&) override {
    is_experiment_ended_ = true;
  }
  [[nodiscard]] std::chrono::duration<double> interval() const override {
    return std::chrono::milliseconds(1);  // more often than it may be
  }

  std::vector<Progress> reports;
  int last_reports = 0;
  bool is_ended_first = false;

 private:
  bool is_experiment_ended_ = false;
};

TEST_CASE("a reporter of the user's takes the place of the display", "[progress]") {
  const TemporaryFolder folder;
  const int verbosity = GENERATE(0, 1);
  const auto reporter = std::make_shared<KeepingReporter>();
  Experiment experiment = shown_experiment(folder, verbosity);
  experiment.callbacks = {reporter};
  std::optional<ResultGrid> results;
  const auto [out, err] = output_of([&] { results = tune_run(report_four, experiment); });
  CHECK(err.empty());
  REQUIRE(reporter->reports.size() >= 2);
  CHECK(reporter->last_reports == 1);
  CHECK_FALSE(reporter->is_ended_first);
  const Progress& first = reporter->reports.front();
  CHECK(first.name == "run");
  CHECK(first.path == folder.path() / "run");
  CHECK(first.expected_trials == 5);
  CHECK_FALSE(first.end);
  const Progress& last = reporter->reports.back();
  CHECK(last.counts == TrialCounts{.terminated = 5});
  CHECK(last.results == 20);
  CHECK(last.best->id == results->best().id);
  CHECK(last.best->training_iteration == 4);
  REQUIRE(last.end);
  CHECK(last.end->reason == "all trials ended");
}

/// Writes a file into the experiment's directory at the fifth report.
class SignallingReporter final : public KeepingReporter {
 public:
  void report(const Progress& progress, bool is_last) override {
    KeepingReporter::report(progress, is_last);
    if (reports.size() == 5) std::ofstream(progress.path / "five reports") << "yes";
  }
};

TEST_CASE("reports come while trials are silent", "[progress]") {
  const TemporaryFolder folder;
  const auto reporter = std::make_shared<SignallingReporter>();
  Experiment experiment = shown_experiment(folder, 1);
  experiment.num_samples = 1;
  experiment.callbacks = {reporter};
  const ResultGrid results = tune_run(
      [](const Config&) {
        const fs::path signal = track::context().trial_dir.parent_path() / "five reports";
        const bool has_come = wait_until([&] { return fs::exists(signal); });
        track::report({{"loss", has_come ? 0.0 : 1.0}});
      },
      experiment);
  CHECK(results.best().metrics.at("loss").as_double() == 0);
  CHECK(std::is_sorted(reporter->reports.begin(), reporter->reports.end(),
                       [](const Progress& a, const Progress& b) { return a.elapsed < b.elapsed; }));
}

TEST_CASE("a reporter that throws is switched off, and the search goes on", "[progress]") {
  struct Throwing final : ProgressReporter {
    [[nodiscard]] std::string name() const override { return "my panel"; }
    void report(const Progress&, bool) override {
      ++calls;
      throw std::runtime_error("no panel");
    }
    int calls = 0;
  };
  const TemporaryFolder folder;
  const auto reporter = std::make_shared<Throwing>();
  Experiment experiment = shown_experiment(folder, 1);
  experiment.callbacks = {reporter};
  const ResultGrid results = tune_run(report_four, experiment);
  CHECK(results.experiment_end().terminated_trials == 5);
  CHECK(reporter->calls == 1);
  CHECK(read_text(folder.path() / "run" / "driver.log").find("my panel") != std::string::npos);
}

TEST_CASE("a scheduler that cannot describe itself harms nobody", "[progress]") {
  struct Indescribable final : TestScheduler {
    Decision on_trial_result(SchedulerContext&, const Trial&, const Result&) override {
      return Decision::proceed;
    }
    [[nodiscard]] std::string describe() const override { throw std::runtime_error("no words"); }
  };
  const TemporaryFolder folder;
  Experiment experiment = shown_experiment(folder, 1);
  experiment.scheduler = std::make_unique<Indescribable>();
  const auto [out, err] = output_of([&] { (void)tune_run(report_four, experiment); });
  CHECK(count_lines(err) > 1);
  CHECK(err.find("no words") == std::string::npos);
}

/// A terminal's two ends, and an environment in which it is drawn on.
class TerminalOnStderr {
 public:
  TerminalOnStderr() : reader(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)) {
    REQUIRE(::grantpt(reader) == 0);
    REQUIRE(::unlockpt(reader) == 0);
    writer_ = ::open(::ptsname(reader), O_RDWR | O_NOCTTY);
    REQUIRE(writer_ >= 0);
    ::setenv("TERM", "xterm", 1);
    ::setenv("CI", "false", 1);
    stderr_.emplace(STDERR_FILENO, writer_);
  }
  ~TerminalOnStderr() {
    stderr_.reset();
    ::close(writer_);
    close_reader();
  }
  TerminalOnStderr(const TerminalOnStderr&) = delete;
  TerminalOnStderr& operator=(const TerminalOnStderr&) = delete;
  void close_reader() {
    if (reader >= 0) ::close(std::exchange(reader, -1));
  }
  [[nodiscard]] std::string read() const {
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t size = 0; (size = ::read(reader, buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(size));
    }
    return text;
  }

  int reader;

 private:
  int writer_ = -1;
  std::optional<Redirected> stderr_;
};

TEST_CASE("on a terminal the display is drawn in place", "[progress]") {
  if (!test::has_pseudo_terminals()) return test::skip_test("there are no pseudo-terminals here");
  const TemporaryFolder folder;
  TerminalOnStderr terminal;
  Experiment experiment = shown_experiment(folder, 1);
  experiment.num_samples = 1;
  std::string text;
  // The trial runs until there was a draw with it.
  std::jthread reader([&] {
    wait_until([&] {
      text += terminal.read();
      return text.find("1 running") != std::string::npos;
    });
    std::ofstream(folder.path() / "was drawn") << "yes";
  });
  (void)tune_run(
      [](const Config&) {
        const fs::path storage = track::context().trial_dir.parent_path().parent_path();
        wait_until([&] { return fs::exists(storage / "was drawn"); });
        track::report({{"loss", 0.0}});
      },
      experiment);
  reader.join();
  text += terminal.read();
  CHECK(text.find("\x1b[J") != std::string::npos);
  CHECK(text.find("1 running") != std::string::npos);
  const std::size_t summary = text.find("1 trial in ");
  REQUIRE(summary != std::string::npos);
  CHECK(text.find("\x1b[J", summary) == std::string::npos);
}

TEST_CASE("a terminal that is closed does not end the search", "[progress]") {
  if (!test::has_pseudo_terminals()) return test::skip_test("there are no pseudo-terminals here");
  const TemporaryFolder folder;
  TerminalOnStderr terminal;
  Experiment experiment = shown_experiment(folder, 2);
  terminal.close_reader();
  const ResultGrid results = tune_run(report_four, experiment);
  CHECK(results.experiment_end().terminated_trials == 5);
}

}  // namespace
}  // namespace tune::test
