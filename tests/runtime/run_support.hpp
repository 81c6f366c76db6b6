#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <tune/experiment.hpp>
#include <tune/scheduler.hpp>
#include <tune/searchers/random.hpp>
#include <tune/trainable.hpp>
#include <tune/tune_run.hpp>

#include "support/temporary_folder.hpp"

namespace tune::test {

/// Where the trials of this run of the tests are: in worker processes if TUNE_TEST_ISOLATION says
/// so.
inline Isolation tested_isolation() {
  const char* value = std::getenv("TUNE_TEST_ISOLATION");
  return value != nullptr && value == std::string("processes") ? Isolation::processes
                                                               : Isolation::threads;
}

/// An experiment below `folder` that writes no result files, shows nothing and retries at once; on
/// 2 slots.
inline Experiment small_experiment(const TemporaryFolder& folder) {
  Experiment experiment;
  experiment.name = "run";
  experiment.storage_path = folder.path().string();
  experiment.seed = 1;
  experiment.searcher = random_search();  // the same configurations in whatever order trials end
  experiment.isolation = tested_isolation();
  experiment.local = {.cpus = 2};
  experiment.exporters = {};
  experiment.failure.retry_pause = std::chrono::seconds(0);
  experiment.verbosity = 0;
  return experiment;
}

/// Trains towards 0 from `x`, a step at a time, and keeps its state in checkpoints.
class Descent : public Trainable {
 public:
  void setup(const Config& config) override { x_ = config["x"].get<double>(); }
  Metrics step() override {
    x_ /= 2;
    ++steps_;
    return {{"loss", x_}, {"steps", steps_}};
  }
  void save_checkpoint(const std::filesystem::path& dir) override {
    std::ofstream out(dir / "state");
    out.precision(17);
    out << x_ << ' ' << steps_;
  }
  void load_checkpoint(const std::filesystem::path& dir) override {
    std::ifstream(dir / "state") >> x_ >> steps_;
  }

 private:
  double x_ = 0;
  int steps_ = 0;
};

/// The training iterations of a trial's results, in order.
inline std::vector<std::int64_t> iterations(const TrialResult& trial) {
  std::vector<std::int64_t> iterations;
  for (const Result& result : trial.history()) iterations.push_back(result.training_iteration);
  return iterations;
}

/// 1, 2, ..., last.
inline std::vector<std::int64_t> counted_to(std::int64_t last) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 1; i <= last; ++i) numbers.push_back(i);
  return numbers;
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Waits for a condition, within a generous time. False if it never came.
template <class Condition>
bool wait_until(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// A trial may be in another process than the test and than other trials. What it shall do is in its
// configuration; what it saw or did is in its metrics, or in files of its directory:

/// Appends a line to a trial's file.
inline void add_line(const std::filesystem::path& file, const std::string& line) {
  std::ofstream(file, std::ios::app) << line + '\n';
}

/// The lines of a trial's file, none if there is no such file.
inline std::vector<std::string> read_lines(const std::filesystem::path& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// How many trials of an experiment have a file of that name.
inline int count_trials_with(const std::string& file, const std::filesystem::path& experiment) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(experiment, error)) {
    if (std::filesystem::exists(entry.path() / file, error)) ++count;
  }
  return count;
}

/// What schedulers of these tests have in common.
class TestScheduler : public TrialScheduler {
 public:
  [[nodiscard]] bool needs_metric() const override { return false; }
  [[nodiscard]] Json options() const override { return {{"name", "test"}}; }
};

}  // namespace tune::test
