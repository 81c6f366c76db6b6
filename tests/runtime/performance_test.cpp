// What must not grow with the number of trials, or with the size of a configuration. How long
// things take is measured by benchmarks/tune_bench.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/callback.hpp>
#include <tune/fsck.hpp>

#include "run_support.hpp"

namespace tune::test {
namespace {

class OneReport final : public Trainable {
 public:
  Metrics step() override { return {{"loss", 1.0}}; }
};

/// Keeps an entry for each trial that has ended, and counts what it saves.
class EntryForEachTrial final : public TestScheduler {
 public:
  using Saves = std::vector<std::int64_t>;  // elements of each saved state
  explicit EntryForEachTrial(std::shared_ptr<Saves> saves) : saves_(std::move(saves)) {}

  Decision on_trial_result(SchedulerContext&, const Trial&, const Result&) override {
    return Decision::proceed;
  }
  void on_trial_completed(SchedulerContext&, const Trial& trial, const Result&) override {
    state_.push_back(trial.id().value());
  }
  [[nodiscard]] Json save() const override {
    saves_->push_back(std::ssize(state_));
    return state_;
  }

 private:
  Json state_ = Json::array();
  std::shared_ptr<Saves> saves_;
};

struct ProcessUse {
  double resident_mb = 0;
  std::int64_t descriptors = 0;
};

ProcessUse use_of_this_process() {
  ProcessUse use;
  std::int64_t pages = 0;
  std::ifstream file("/proc/self/statm");
  file >> pages >> pages;
  use.resident_mb = static_cast<double>(pages * ::sysconf(_SC_PAGESIZE)) / 1e6;
  const std::filesystem::directory_iterator open("/proc/self/fd");
  use.descriptors = std::distance(begin(open), end(open));
  return use;
}

/// Looks at this process after so many trials.
class UseMeter final : public Callback {
 public:
  void on_trial_completed(const TrialInfo&, const TrialEnd&) override {
    ++ended;
    if (ended == 1000) early = use_of_this_process();
    if (ended == 10'000) late = use_of_this_process();
  }
  std::int64_t ended = 0;
  ProcessUse early;
  ProcessUse late;
};

std::uintmax_t bytes_below(const std::filesystem::path& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

TEST_CASE("PE-01, PE-02: ten thousand short trials", "[PE-01][PE-02][threads]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  const auto saves = std::make_shared<EntryForEachTrial::Saves>();
  const auto meter = std::make_shared<UseMeter>();
  experiment.num_samples = 10'000;
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.scheduler = std::make_unique<EntryForEachTrial>(saves);
  experiment.local = {.cpus = 8};
  experiment.stop = {{"training_iteration", 1.0}};
  experiment.callbacks = {meter};
  const ResultGrid results = tune_run<OneReport>(experiment);
  CHECK(results.experiment_end().terminated_trials == 10'000);
  REQUIRE(meter->ended == 10'000);

  // What all saves together wrote is in proportion to the events, of which a trial has five at
  // most. A save every so many events would write twenty times as much here.
  REQUIRE(saves->size() > 2);
  CHECK(std::accumulate(saves->begin(), saves->end(), std::int64_t{0}) - saves->back() <=
        5 * 10'000);

  CHECK(meter->late.descriptors <= meter->early.descriptors);
#ifndef __SANITIZE_ADDRESS__  // which keeps what is freed
  CHECK(meter->late.resident_mb - meter->early.resident_mb <= 45);
#endif
}

TEST_CASE("PE-04: a table of constants is stored once, and once more for each trial",
          "[PE-04][threads]") {
  constexpr std::int64_t trials = 8;
  constexpr double reports = 100;
  Json table = Json::array();
  for (int i = 0; i < 65'000; ++i) table.push_back(i / 7.0);
  const std::size_t table_bytes = table.dump().size();
  REQUIRE(table_bytes > 1'000'000);

  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", uniform(0, 1)}, {"table", constant(table)}};
  experiment.num_samples = trials;
  experiment.stop = {{"training_iteration", reports}};
  experiment.exporters = {"json", "csv", "tensorboard"};
  const ResultGrid results = tune_run<OneReport>(experiment);
  REQUIRE(results.experiment_end().terminated_trials == trials);

  // 800 MB for 500 trials are 1.6 tables a trial, of which params.json is one. The others are
  // in the journal, its definition, and experiment.json, where it is indented.
  CHECK(bytes_below(folder.path()) < (trials + 4) * table_bytes + trials * 100'000);
  for (const TrialResult& trial : results) {
    CHECK((trial.config.json().at("table") == table));
    const Json params = Json::parse(std::ifstream(trial.path / "params.json"));
    CHECK((params.at("table") == table));
    std::ifstream rows(trial.path / "result.json");
    std::int64_t count = 0;
    for (std::string line; std::getline(rows, line); ++count) {
      CHECK(line.size() < 4096);
      CHECK(Json::parse(line).at("config") == Json{{"x", trial.config.json().at("x")}});
    }
    CHECK(count == 100);
  }
  std::ostringstream text;
  const FsckReport report = fsck(folder.path() / "run");
  report.print(text);
  INFO(text.str());
  CHECK(report.is_sound());
}

}  // namespace
}  // namespace tune::test
