#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <tune/experiment.hpp>
#include <tune/scheduler.hpp>
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

/// What schedulers of these tests have in common.
class TestScheduler : public TrialScheduler {
 public:
  [[nodiscard]] bool needs_metric() const override { return false; }
  [[nodiscard]] Json options() const override { return {{"name", "test"}}; }
};

}  // namespace tune::test
