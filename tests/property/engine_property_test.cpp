#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "engine_history.hpp"
#include "support/engine_text.hpp"
#include "support/seed.hpp"

namespace tune::test {
namespace {

std::uint64_t rounds() {
  const char* text = std::getenv("TUNE_TEST_ROUNDS");
  return text == nullptr ? TUNE_TEST_ROUNDS : std::stoull(text);
}

/// The same history once more, for the last lines of its trace.
std::string last_steps(std::uint64_t seed, SchedulerKind kind) {
  std::deque<std::string> lines;
  try {
    (void)run_history(seed, kind, [&lines](const std::string& line) {
      lines.push_back(line);
      if (lines.size() > 40) lines.pop_front();
    });
  } catch (const std::logic_error&) {
    // the one that is being reported
  }
  std::string text = "the last steps:\n";
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

/// What holds of a whole history, beyond what holds after each event of it.
void check_end(const History& history, SchedulerKind kind) {
  CHECK((history.may_end_early || kind == SchedulerKind::random || history.end.error.empty()));
  if (history.may_end_early || kind == SchedulerKind::random) return;
  CHECK(history.end.unfinished_trials == 0);
  CHECK(history.trials.size() == history.expected_trials);
}

/// Runs `count` histories, or the one of TUNE_TEST_SEED with its whole trace. A fault comes with
/// its seed and what happened last.
void check_histories(SchedulerKind kind, std::uint64_t count) {
  if (std::getenv("TUNE_TEST_SEED") != nullptr) {
    (void)run_history(test_seed(0), kind,
                      [](const std::string& line) { std::cout << line << '\n'; });
    return;
  }
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    INFO("TUNE_TEST_SEED=" << seed);
    try {
      check_end(run_history(seed, kind), kind);
    } catch (const std::logic_error& fault) {
      FAIL("TUNE_TEST_SEED=" << seed << " replays it: " << fault.what() << last_steps(seed, kind));
    }
  }
}

TEST_CASE("engine: invariants hold in random histories under FIFO", "[engine]") {
  check_histories(SchedulerKind::fifo, rounds() / 4);
}

TEST_CASE("engine: invariants hold in random histories under ASHA", "[engine]") {
  check_histories(SchedulerKind::asha, rounds() / 4);
}

TEST_CASE("engine: invariants hold in random histories under a scheduler that rolls dice",
          "[engine]") {
  check_histories(SchedulerKind::random, rounds());
}

std::vector<std::string> trace_of(std::uint64_t seed, SchedulerKind kind) {
  std::vector<std::string> trace;
  (void)run_history(seed, kind, [&trace](const std::string& line) { trace.push_back(line); });
  return trace;
}

TEST_CASE("engine: the same events in the same order give the same commands", "[engine]") {
  for (const auto kind : {SchedulerKind::fifo, SchedulerKind::asha, SchedulerKind::random}) {
    for (std::uint64_t seed = 1; seed <= rounds() / 20; ++seed) {
      INFO("TUNE_TEST_SEED=" << seed);
      REQUIRE(trace_of(seed, kind) == trace_of(seed, kind));
    }
  }
}

TEST_CASE("engine: the number of slots changes no trial under FIFO", "[engine]") {
  for (std::uint64_t seed = 1; seed <= rounds() / 20; ++seed) {
    INFO("seed " << seed);
    const History alone = run_calm(seed, 1);
    const History together = run_calm(seed, 12);
    REQUIRE(alone.trials.size() == 12);
    REQUIRE(together.trials.size() == 12);
    for (const auto& [id, trial] : alone.trials) {
      const TrialLog& same = together.trials.at(id);
      INFO("trial " << id);
      CHECK(trial.first_config == same.first_config);
      CHECK(trial.state == same.state);
      CHECK(trial.reason == same.reason);
      REQUIRE(trial.line.size() == same.line.size());
      for (std::size_t i = 0; i < trial.line.size(); ++i) {
        CHECK(trial.line[i].metrics == same.line[i].metrics);
        CHECK(trial.line[i].done == same.line[i].done);
      }
    }
  }
}

}  // namespace
}  // namespace tune::test
