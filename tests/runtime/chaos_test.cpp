#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/result_grid.hpp>

#include "chaos_run.hpp"
#include "chaos_search.hpp"
#include "store/journal_reader.hpp"
#include "support/seed.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

/// How often the driver is killed: TUNE_TEST_CHAOS_KILLS, or a few times.
int wanted_kills() {
  const char* value = std::getenv("TUNE_TEST_CHAOS_KILLS");
  return value == nullptr ? 12 : std::atoi(value);
}

/// So many that it is still at work when the last kill comes.
int samples() { return std::max(200, 25 * wanted_kills()); }

pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  char state = 0;
  pid_t parent = 0;
  fields >> state >> parent;
  return parent;
}

/// Kills a search, over and over, at moments that a seed chooses.
class Chaos {
 public:
  Chaos(const std::string& kind, std::uint64_t seed, std::int64_t all_events)
      : folder_(kind, samples()), random_(seed), longest_wait_(all_events / (wanted_kills() + 1)) {}

  [[nodiscard]] const ChaosFolder& folder() const { return folder_; }
  [[nodiscard]] int kills() const { return kills_; }

  void run_to_the_end() {
    while (kills_ < wanted_kills()) {
      CAPTURE(kills_);
      const auto run = folder_.start();
      if (draw(3) == 0) kill_a_worker_of(*run);
      const bool is_timed = draw(4) == 0;
      is_timed ? wait_a_moment(*run) : wait_for_events(*run, draw(longest_wait_));
      if (run->has_ended()) {
        CHECK(run->wait() == 0);
        break;
      }
      run->kill();
      CHECK(run->wait() == -SIGKILL);
      CHECK(read_text(run->error_file()).empty());
      ++kills_;
      folder_.check_after_kill();
    }
    folder_.finish();
  }

 private:
  /// From 0 to `most`.
  std::int64_t draw(std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random_);
  }

  /// Nothing depends on how long it is.
  void wait_a_moment(const ProgramRun& run) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(draw(250));
    (void)wait_until([&] { return run.has_ended() || std::chrono::steady_clock::now() >= end; });
  }

  /// Waits until so many more events are committed.
  void wait_for_events(const ProgramRun& run, std::int64_t count) const {
    std::optional<store::JournalReader> reader;
    std::int64_t first = 0;
    const auto has_come = [&] {
      if (run.has_ended()) return true;
      try {
        if (!reader) {
          reader.emplace(folder_.experiment());
          first = reader->last_event();
        }
        return reader->last_event() >= first + count;
      } catch (const store::JournalError&) {
        return false;  // it is not there yet
      }
    };
    REQUIRE(wait_until(has_come));
  }

  void kill_a_worker_of(const ProgramRun& run) {
    wait_for_events(run, draw(longest_wait_ / 2));
    std::vector<pid_t> workers;
    for (const pid_t process : folder_.processes()) {
      const pid_t parent = parent_of(process);  // the guardian; that one's is the driver
      if (process != run.pid() && parent != run.pid() && parent_of(parent) == run.pid()) {
        workers.push_back(process);
      }
    }
    if (workers.empty()) return;
    const auto chosen =
        static_cast<std::size_t>(draw(static_cast<std::int64_t>(workers.size()) - 1));
    ::kill(workers[chosen], SIGKILL);
  }

  ChaosFolder folder_;
  std::mt19937_64 random_;
  std::int64_t longest_wait_;
  int kills_ = 0;
};

/// Every trial is there once, and all its results are what they must be.
void check_results(const ResultGrid& results) {
  REQUIRE(results.size() == static_cast<std::size_t>(samples()));
  std::uint64_t next = 0;
  std::optional<double> best;
  for (const TrialResult& trial : results) {
    CAPTURE(trial.name);
    CHECK(trial.id == TrialId{next++});
    CHECK(trial.state == TrialState::terminated);
    CHECK(trial.error.empty());
    const double x = trial.config["x"].get<double>();
    std::int64_t n = 0;
    for (const Result& result : trial.history()) {
      ++n;
      REQUIRE(result.training_iteration == n);
      REQUIRE(result.metrics == Metrics{{"loss", chaos_loss(x, n)}, {"n", n}, {"x", x}});
    }
    const double loss = chaos_loss(x, n);
    if (n > 0 && (!best || loss < *best)) best = loss;
  }
  REQUIRE(best);
  CHECK(results.best().metrics.at("loss").as_double() == *best);
}

TEST_CASE("a FIFO search that is killed again and again does what an undisturbed one does",
          "[chaos]") {
  const std::uint64_t seed = test_seed(1);
  INFO("TUNE_TEST_SEED=" << seed);
  Chaos chaos("fifo", seed, samples() * std::int64_t{15});
  chaos.run_to_the_end();
  CHECK(chaos.kills() >= wanted_kills() / 5);  // a busy machine gets less far
  chaos.folder().check_after_end();
  const ResultGrid results = ResultGrid::open(chaos.folder().experiment());
  check_results(results);

  const ChaosFolder undisturbed("fifo", samples());
  undisturbed.finish();
  undisturbed.check_after_end();
  const ResultGrid wanted = ResultGrid::open(undisturbed.experiment());
  REQUIRE(wanted.size() == results.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(results[i].name == wanted[i].name);
    CHECK(results[i].config == wanted[i].config);
    CHECK(results[i].reason == wanted[i].reason);
    CHECK(results[i].metrics == wanted[i].metrics);
    CHECK(results[i].training_iteration == chaos_iterations);
  }
  CHECK(results.best().id == wanted.best().id);
}

TEST_CASE("an ASHA search that is killed again and again loses nothing and doubles nothing",
          "[chaos]") {
  const std::uint64_t seed = test_seed(2);
  INFO("TUNE_TEST_SEED=" << seed);
  Chaos chaos("asha", seed, samples() * std::int64_t{7});
  chaos.run_to_the_end();
  CHECK(chaos.kills() >= wanted_kills() / 5);  // a busy machine gets less far
  chaos.folder().check_after_end();
  const ResultGrid results = ResultGrid::open(chaos.folder().experiment());
  check_results(results);
  CHECK(results.best().training_iteration == chaos_iterations);
}

}  // namespace
}  // namespace tune::test
