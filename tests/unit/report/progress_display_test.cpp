#include "report/progress_display.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "progress_samples.hpp"
#include "terminal_emulator.hpp"

namespace tune::report {
namespace {

using test::sample_progress;
using test::TerminalEmulator;
using Lines = std::vector<std::string>;

/// Keeps what is written; the window may change and be busy.
struct Written {
  std::string text;
  WindowSize size{60, 12};
  bool is_ready = true;
};

class FakeOutput final : public DisplayOutput {
 public:
  explicit FakeOutput(std::shared_ptr<Written> written) : written_(std::move(written)) {}
  [[nodiscard]] WindowSize size() const override { return written_->size; }
  [[nodiscard]] bool is_ready() override { return written_->is_ready; }
  void write(std::string_view text) override { written_->text += text; }
  void finish(std::chrono::milliseconds) override {}

 private:
  std::shared_ptr<Written> written_;  // with the test
};

struct DisplayFixture {
  ProgressDisplay make(bool redraws,
                       ProgressDisplay::TrialLines lines = ProgressDisplay::TrialLines::no) const {
    return {std::make_unique<FakeOutput>(written), {.redraws = redraws}, lines};
  }
  static Progress at(double seconds, std::int64_t results) {
    Progress progress = sample_progress();
    progress.elapsed = Progress::Seconds(seconds);
    progress.results = results;
    return progress;
  }
  std::string take() const { return std::exchange(written->text, {}); }

  std::shared_ptr<Written> written = std::make_shared<Written>();
};

TEST_CASE("a block is drawn again in its place", "[progress_display]") {
  TerminalEmulator window(20, 6);
  window.write("$ run\n");
  window.write(draw_block({}, {"one", "two", "three"}));
  CHECK(window.lines() == Lines{"$ run", "", "one", "two", "three"});
  window.write(draw_block({}, {"1", "2"}));
  CHECK(window.lines() == Lines{"$ run", "", "1", "2"});
  window.write(draw_block({"stays"}, {"1", "2", "3"}));
  CHECK(window.lines() == Lines{"$ run", "stays", "", "1", "2", "3"});
  window.write(draw_block({}, {}));
  window.write("done\n");
  CHECK(window.lines() == Lines{"$ run", "stays", "done"});
}

TEST_CASE("what the program prints between two draws stays, and no line of a block",
          "[progress_display]") {
  TerminalEmulator window(20, 6);
  for (int i = 0; i < 20; ++i) {
    window.write(draw_block({}, {"one", "two", "three"}));
    window.write("line " + std::to_string(i) + "\n");
  }
  window.write(draw_block({}, {}));
  const Lines lines = window.lines();
  REQUIRE(lines.size() == 20);
  for (int i = 0; i < 20; ++i)
    CHECK(lines[static_cast<std::size_t>(i)] == "line " + std::to_string(i));
}

TEST_CASE("a line that the program has begun goes on behind a draw", "[progress_display]") {
  TerminalEmulator window(20, 4);
  window.write("loading");
  window.write(draw_block({}, {"one", "two"}));
  window.write(" data");
  window.write(draw_block({}, {"1", "2"}));
  CHECK(window.lines() == Lines{"loading data", "1", "2"});
  window.write(" done\n");
  window.write(draw_block({}, {"A", "B"}));
  CHECK(window.lines() == Lines{"loading data done", "", "A", "B"});
}

TEST_CASE("a window that is smaller than was known keeps nothing of a block",
          "[progress_display]") {
  TerminalEmulator window(6, 3);
  window.write("$\n");
  for (int i = 0; i < 5; ++i) {
    window.write(draw_block({}, Lines(8, "a line that is too long")));
  }
  window.write(draw_block({}, {}));
  for (const std::string& line : window.lines()) CHECK(line.find("li") == std::string::npos);
}

TEST_CASE_METHOD(DisplayFixture, "on a terminal the display follows the window's size",
                 "[progress_display]") {
  ProgressDisplay display = make(true);
  CHECK(display.interval().count() >= 0.25);
  display.report(at(0, 0), false);
  CHECK(take() == "tune: fashion, 27 trials, results in /results/fashion\n");
  for (const WindowSize size : {WindowSize{60, 12}, WindowSize{20, 5}, WindowSize{100, 30},
                                WindowSize{1, 1}, WindowSize{0, 0}}) {
    written->size = size;
    TerminalEmulator window(std::max<std::size_t>(size.columns, 1),
                            std::max<std::size_t>(size.rows, 1));
    for (int i = 0; i < 3; ++i) {
      display.report(at(i, i), false);
      window.write(take());
    }
    CHECK(window.lines().size() <= std::max<std::size_t>(size.rows, 1));
  }
}

TEST_CASE_METHOD(DisplayFixture, "a terminal that is busy is not drawn to", "[progress_display]") {
  ProgressDisplay display = make(true);
  display.report(at(0, 0), false);
  (void)take();
  written->is_ready = false;
  display.report(at(1, 1), false);
  CHECK(take().empty());
  written->is_ready = true;
  display.report(at(2, 2), false);
  CHECK_FALSE(take().empty());
}

TEST_CASE_METHOD(DisplayFixture, "at the end the block gives way to the summary",
                 "[progress_display]") {
  TerminalEmulator window(60, 30);
  {
    ProgressDisplay display = make(true);
    for (int i = 0; i < 3; ++i) display.report(at(i, i), false);
    display.report(at(5, 5), true);
    window.write(take());
  }
  CHECK(take().empty());
  const Lines lines = window.lines();
  REQUIRE(lines.size() >= 3);
  CHECK(lines[0] == "tune: fashion, 27 trials, results in /results/fashion");
  CHECK(lines[1].starts_with("ended    18 trials in 5.0 s"));
  CHECK(lines.back() == "results  /results/fashion");
}

TEST_CASE_METHOD(DisplayFixture, "a display whose experiment breaks off leaves the screen clean",
                 "[progress_display]") {
  TerminalEmulator window(60, 30);
  {
    ProgressDisplay display = make(true);
    for (int i = 0; i < 3; ++i) display.report(at(i, i), false);
  }
  window.write(take());
  CHECK(window.lines() == Lines{"tune: fashion, 27 trials, results in /results/fashion"});
}

TEST_CASE_METHOD(DisplayFixture, "elsewhere it is a line every few seconds", "[progress_display]") {
  ProgressDisplay display = make(false);
  display.report(at(0, 0), false);
  (void)take();
  display.report(at(4, 1), false);
  CHECK(take().empty());
  display.report(at(5, 2), false);
  const std::string line = take();
  CHECK(line.starts_with("tune: 12/27 trials  44 %  5.0 s"));
  CHECK(line.find('\x1b') == std::string::npos);
  CHECK(std::count(line.begin(), line.end(), '\n') == 1);
  display.report(at(6, 3), false);
  CHECK(take().empty());
  display.report(at(10, 3), false);
  CHECK_FALSE(take().empty());
  // Nothing happens any more.
  display.report(at(39, 3), false);
  CHECK(take().empty());
  display.report(at(40, 3), false);
  CHECK_FALSE(take().empty());
}

TEST_CASE_METHOD(DisplayFixture, "what the command line sets stands below the first line",
                 "[progress_display]") {
  ProgressDisplay display = make(/*redraws=*/GENERATE(false, true));
  ExperimentInfo experiment;
  experiment.overrides = "--tune-num-samples=2 --tune-fail-fast";
  display.on_experiment_start(experiment);
  display.report(at(0, 0), false);
  const std::string text = take();
  CHECK(text.starts_with("tune: "));
  CHECK(text.ends_with("\ntune: the command line sets --tune-num-samples=2 --tune-fail-fast\n"));
}

TEST_CASE_METHOD(DisplayFixture, "a line a trial that starts or ends, if asked for",
                 "[progress_display]") {
  TrialInfo trial;
  trial.id = TrialId(3);
  trial.config = Config(Json{{"lr", 0.1}, {"s", "a\nb"}});
  Result result;
  result.training_iteration = 4;
  result.metrics = {{"val_acc", 0.875}};
  ExperimentInfo experiment;
  experiment.objective = Objective{"val_acc", Mode::max};
  const auto tell = [&](ProgressDisplay& display) {
    trial.start_iteration = 0;
    display.on_experiment_start(experiment);
    display.report(at(0, 0), false);
    (void)take();
    display.on_trial_start(trial);
    display.on_trial_failed(trial, {TrialState::error, "", "too early\nmore"}, true);
    trial.start_iteration = 2;
    display.on_trial_start(trial);
    display.on_trial_result(trial, result);
    display.on_trial_failed(trial, {TrialState::error, "", "on purpose"}, true);
    display.on_trial_completed(trial, {TrialState::terminated, "stopped by asha", ""});
  };
  const std::string expected =
      "tune: trial 00003 starts: lr=0.1 s=a b\n"
      "tune: trial 00003 fails before its first result and is tried again: too early\n"
      "tune: trial 00003 starts after iteration 2: lr=0.1 s=a b\n"
      "tune: trial 00003 fails after iteration 4 with val_acc 0.875 and is tried again: on "
      "purpose\n"
      "tune: trial 00003 ends after iteration 4 with val_acc 0.875: stopped by asha\n";
  ProgressDisplay plain = make(false, ProgressDisplay::TrialLines::yes);
  tell(plain);
  plain.on_idle();
  CHECK(take() == expected);

  ProgressDisplay redrawn = make(true, ProgressDisplay::TrialLines::yes);
  tell(redrawn);
  redrawn.on_idle();
  CHECK(take().empty());
  redrawn.report(at(1, 1), false);
  TerminalEmulator window(100, 20);
  window.write(take());
  std::string first_lines;
  for (int i = 0; i < 5; ++i) first_lines += window.lines().at(static_cast<std::size_t>(i)) + '\n';
  CHECK(first_lines == expected);

  ProgressDisplay silent = make(false);
  tell(silent);
  silent.on_idle();
  CHECK(take().empty());
}

TEST_CASE_METHOD(DisplayFixture, "PE-04: a trial's line shows the beginning of a large parameter",
                 "[progress_display][PE-04]") {
  TrialInfo trial;
  trial.config = Config(Json{{"table", std::vector<double>(60'000, 1.5)}, {"x", 1}});
  ProgressDisplay display = make(false, ProgressDisplay::TrialLines::yes);
  display.on_experiment_start({});
  display.report(at(0, 0), false);
  (void)take();
  display.on_trial_start(trial);
  display.on_idle();
  const std::string line = take();
  CHECK_THAT(line, Catch::StartsWith("tune: trial 00000 starts: table=[1.5,1.5,"));
  CHECK_THAT(line, Catch::EndsWith("... x=1\n"));
  CHECK(line.size() < 300);
}

TEST_CASE_METHOD(DisplayFixture, "a flood of trials does not become a flood of lines",
                 "[progress_display]") {
  ProgressDisplay display = make(true, ProgressDisplay::TrialLines::yes);
  display.report(at(0, 0), false);
  (void)take();
  for (std::uint64_t id = 0; id < 100'000; ++id) {
    TrialInfo trial;
    trial.id = TrialId(id);
    display.on_trial_start(trial);
  }
  display.report(at(1, 1), false);
  const std::string text = take();
  CHECK(text.size() < 40'000);
  CHECK(text.find("99500 more lines left out") != std::string::npos);
}

}  // namespace
}  // namespace tune::report
