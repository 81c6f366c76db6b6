#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include <tune/tune.hpp>

#include "chaos_search.hpp"

namespace {

using tune::test::ChaosTrainable;

/// Kills this program when a moment has come that is on record by then; once.
class KillsItself final : public tune::Callback {
 public:
  KillsItself(std::filesystem::path mark, tune::TrialId trial, std::int64_t checkpoint)
      : mark_(std::move(mark)), trial_(trial), checkpoint_(checkpoint) {}

  void on_trial_checkpoint(const tune::TrialInfo& trial,
                           const tune::Checkpoint& checkpoint) override {
    if (trial.id == trial_ && checkpoint.training_iteration == checkpoint_) kill();
  }
  void on_trial_completed(const tune::TrialInfo& trial, const tune::TrialEnd&) override {
    if (trial.id == trial_) kill();
  }

 private:
  void kill() {
    if (std::filesystem::exists(mark_)) return;
    std::ofstream(mark_) << "killed";
    ::kill(::getpid(), SIGKILL);
  }

  std::filesystem::path mark_;
  tune::TrialId trial_;
  std::int64_t checkpoint_;
};

tune::Experiment define_chaos(const std::string& kind, const std::string& storage,
                              std::int64_t samples) {
  tune::Experiment experiment;
  experiment.searcher = tune::random_search();  // the same trials in whatever order they end
  experiment.name = "run";
  experiment.storage_path = storage;
  experiment.space = {{"x", tune::uniform(0, 1)}};
  experiment.metric = "loss";
  experiment.mode = tune::Mode::min;
  experiment.num_samples = samples;
  experiment.seed = 7;
  experiment.local = {.cpus = 4};
  experiment.checkpoint = {.every = 2, .keep = 2};
  experiment.failure = {.max_failures = -1, .retry_pause = std::chrono::seconds(0)};
  experiment.stop = {{"training_iteration", tune::test::chaos_iterations}};
  experiment.verbosity = 0;
  if (kind == "asha") {
    experiment.checkpoint.every = 1;
    experiment.scheduler = tune::asha({.max_t = static_cast<double>(tune::test::chaos_iterations),
                                       .grace_period = 1,
                                       .reduction_factor = 2});
  }
  return experiment;
}

tune::Experiment define_grid(const std::string& storage) {
  tune::Experiment experiment = define_chaos("fifo", storage, 1);
  experiment.space = {{"x", tune::grid_search({0.1, 0.2, 0.3, 0.4, 0.5, 0.6})}};
  experiment.local = {.cpus = 1};
  experiment.checkpoint = {.every = 1, .keep = 1};
  experiment.callbacks = {std::make_shared<KillsItself>(
      std::filesystem::path(storage).parent_path() / "killed", tune::TrialId{3}, 3)};
  return experiment;
}

class ReportsConstant final : public tune::Trainable {
 public:
  void setup(const tune::Config& config) override { x_ = config["x"].get<double>(); }
  tune::Metrics step() override { return {{"score", x_}}; }

 private:
  double x_ = 0;
};

tune::Experiment define_constants(const std::string& storage) {
  tune::Experiment experiment = define_grid(storage);
  experiment.space = {{"x", tune::grid_search({8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0})}};
  experiment.metric = "score";
  experiment.mode = tune::Mode::max;
  experiment.stop = {};
  experiment.checkpoint = {};
  experiment.scheduler = tune::asha({.max_t = 8, .grace_period = 1, .reduction_factor = 2});
  experiment.callbacks = {std::make_shared<KillsItself>(
      std::filesystem::path(storage).parent_path() / "killed", tune::TrialId{3}, -1)};
  return experiment;
}

}  // namespace

int main(int argc, char** argv) {
  tune::init(argc, argv);
  if (argc != 4) return 2;
  const std::string kind = argv[1];
  if (kind == "constants") {
    (void)tune::tune_run<ReportsConstant>(define_constants(argv[2]));
  } else {
    (void)tune::tune_run<ChaosTrainable>(
        kind == "grid" ? define_grid(argv[2]) : define_chaos(kind, argv[2], std::stoll(argv[3])));
  }
}
