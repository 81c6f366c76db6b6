// What a simulation has beside engine and clock: Trainables with their state, checkpoints in the
// grid, callbacks, and fields that have no effect.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/schedulers/asha.hpp>
#include <tune/schedulers/pbt.hpp>
#include <tune/searchers/random.hpp>
#include <tune/simulate.hpp>

namespace tune::test {
namespace {

using Catch::Contains;

/// Its state is how many steps it made, and the x of the trial that it stems from.
class Heir : public Trainable {
 public:
  void setup(const Config& config) override { x_ = born_ = config["x"].get<double>(); }
  Metrics step() override {
    ++steps_;
    return {{"loss", x_}, {"steps", steps_}, {"born", born_}, {"done", steps_ == 8}};
  }
  void save_checkpoint(const std::filesystem::path& dir) override {
    std::ofstream out(dir / "state");
    out.precision(17);
    out << steps_ << ' ' << born_;
  }
  void load_checkpoint(const std::filesystem::path& dir) override {
    std::ifstream(dir / "state") >> steps_ >> born_;
  }

 private:
  double x_ = 0;
  double born_ = 0;
  int steps_ = 0;
};

Experiment heirs(std::int64_t trials) {
  Experiment experiment;
  experiment.searcher = random_search();
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.num_samples = trials;
  experiment.seed = 3;
  return experiment;
}

Cluster with_slots(double cpus) {
  Cluster cluster;
  cluster.node.cpus = cpus;
  return cluster;
}

void check_steps(const TrialResult& trial) {
  for (const Result& result : trial.history()) {
    CHECK(result.metrics.at("steps").as_double() == static_cast<double>(result.training_iteration));
  }
}

TEST_CASE("a Trainable that is paused goes on with its state", "[simulate]") {
  Experiment experiment = heirs(9);
  experiment.scheduler = asha({.max_t = 8, .reduction_factor = 2, .type = AshaType::promotion});
  const Simulation simulation = simulate(experiment, with_slots(1), trainable_workload<Heir>());
  CHECK(simulation.starts > 9);  // some were paused, and went on
  for (const TrialResult& trial : simulation.results) check_steps(trial);
}

TEST_CASE("a Trainable that fails goes on from its checkpoint", "[simulate]") {
  Experiment experiment = heirs(6);
  experiment.checkpoint.every = 1;
  experiment.failure.max_failures = -1;
  Cluster cluster = with_slots(2);
  cluster.step_failure_chance = 0.2;
  const Simulation simulation = simulate(experiment, cluster, trainable_workload<Heir>());
  CHECK(simulation.starts > 6);
  for (const TrialResult& trial : simulation.results) {
    CHECK(trial.training_iteration == 8);
    check_steps(trial);
  }
}

TEST_CASE("a Trainable that is cloned hands its state on", "[simulate]") {
  Experiment experiment = heirs(4);
  experiment.scheduler = pbt({.time_attr = "training_iteration",
                              .perturbation_interval = 2,
                              .hyperparam_mutations = {{"x", uniform(0, 1)}}});
  experiment.checkpoint.every = 1;
  const Simulation simulation = simulate(experiment, with_slots(4), trainable_workload<Heir>());
  std::set<double> first_generation;
  for (const TrialResult& trial : simulation.results) {
    first_generation.insert(trial.first_config["x"].get<double>());
  }
  int heirs_of_others = 0;
  for (const TrialResult& trial : simulation.results) {
    const double own = trial.first_config["x"].get<double>();
    for (const Result& result : trial.history()) {
      const double born = result.metrics.at("born").as_double();
      CHECK(first_generation.contains(born));  // 17 digits read back exactly
      if (born != own) ++heirs_of_others;
    }
  }
  CHECK(heirs_of_others > 0);
}

TEST_CASE("the grid of a simulation tells which checkpoints were kept", "[simulate]") {
  Experiment experiment = heirs(2);
  experiment.checkpoint = {.every = 2, .keep = 2};
  const Simulation simulation = simulate(experiment, with_slots(1), trainable_workload<Heir>());
  const TrialResult trial = simulation.results[0];
  REQUIRE(trial.checkpoints.size() == 2);
  CHECK(trial.checkpoints[0].training_iteration == 6);
  CHECK(trial.checkpoint.value().training_iteration == 8);
  CHECK(trial.checkpoint->path.empty());
}

/// Counts what it hears; on demand it throws at the first result.
struct Listening final : Callback {
  void on_experiment_start(const ExperimentInfo& experiment) override { name = experiment.name; }
  void on_trial_start(const TrialInfo&) override { ++starts; }
  void on_trial_result(const TrialInfo& trial, const Result& result) override {
    if (throws) throw std::runtime_error("no paper");
    ++results;
    CHECK(trial.path.empty());
    CHECK(result.timestamp >= 0);
  }
  void on_trial_checkpoint(const TrialInfo&, const Checkpoint&) override { ++checkpoints; }
  void on_trial_completed(const TrialInfo&, const TrialEnd& end) override {
    ++completed;
    reason = end.reason;
  }
  void on_trial_failed(const TrialInfo&, const TrialEnd&, bool will_retry) override {
    ++(will_retry ? retries : failed);
  }
  void on_experiment_end(const ExperimentInfo&, const ExperimentEnd&) override { ++ends; }

  bool throws = false;
  std::string name;
  std::string reason;
  int starts = 0, results = 0, checkpoints = 0, completed = 0, retries = 0, failed = 0, ends = 0;
};

TEST_CASE("the callbacks of a simulated experiment are told what happens", "[simulate]") {
  Experiment experiment = heirs(3);
  experiment.name = "heirs";
  experiment.checkpoint.every = 4;
  const auto listening = std::make_shared<Listening>();
  experiment.callbacks = {listening};
  const Simulation simulation = simulate(experiment, with_slots(1), trainable_workload<Heir>());
  CHECK(listening->name == "heirs");
  CHECK(listening->starts == 3);
  CHECK(listening->results == 3 * 8);
  CHECK(listening->checkpoints == 3 * 2);
  CHECK(listening->completed == 3);
  CHECK(listening->reason == "trainable finished");
  CHECK(listening->ends == 1);
  CHECK(simulation.warnings.empty());
}

TEST_CASE("the callbacks of a simulated experiment hear of failures and retries", "[simulate]") {
  Experiment experiment = heirs(1);
  experiment.failure.max_failures = 2;
  const auto listening = std::make_shared<Listening>();
  experiment.callbacks = {listening};
  Cluster cluster = with_slots(1);
  cluster.step_failure_chance = 1;
  const Simulation simulation = simulate(experiment, cluster, trainable_workload<Heir>());
  CHECK(simulation.results.errors().size() == 1);
  CHECK(listening->retries == 2);
  CHECK(listening->failed == 1);
}

TEST_CASE("a callback that throws in a simulation is switched off", "[simulate]") {
  Experiment experiment = heirs(2);
  const auto throwing = std::make_shared<Listening>();
  throwing->throws = true;
  const auto listening = std::make_shared<Listening>();
  experiment.callbacks = {throwing, listening};
  const Simulation simulation = simulate(experiment, with_slots(1), trainable_workload<Heir>());
  CHECK(throwing->starts == 1);
  CHECK(throwing->ends == 0);
  CHECK(listening->results == 2 * 8);
  REQUIRE(simulation.warnings.size() == 1);
  CHECK_THAT(simulation.warnings[0], Contains("switched off: no paper"));
}

TEST_CASE("fields without effect in a simulation are named, or refused", "[simulate]") {
  Experiment experiment = heirs(1);
  experiment.storage_path = "somewhere";
  experiment.local = {.cpus = 64};
  experiment.exporters = {"csv"};
  const Simulation simulation = simulate(experiment, with_slots(1), trainable_workload<Heir>());
  REQUIRE(simulation.warnings.size() == 1);
  CHECK(simulation.warnings[0] == "storage_path, local, exporters: no effect in a simulation");
  CHECK_FALSE(std::filesystem::exists("somewhere"));

  Experiment resumed = heirs(1);
  resumed.resume_from = "old/checkpoint";
  CHECK_THROWS_WITH(simulate(resumed, with_slots(1), trainable_workload<Heir>()),
                    Contains("resume_from is \"old/checkpoint\""));
  Experiment null_callback = heirs(1);
  null_callback.callbacks = {nullptr};
  CHECK_THROWS_AS(simulate(null_callback, with_slots(1), trainable_workload<Heir>()),
                  std::invalid_argument);
}

TEST_CASE("a step that fails takes its time first", "[simulate]") {
  Experiment experiment = heirs(1);
  const auto work = curve_model([](const Config&, std::int64_t) -> SimulatedStep {
    return {.seconds = 7, .failure = "out of memory"};
  });
  const Simulation simulation = simulate(experiment, with_slots(1), work);
  CHECK(simulation.results[0].error == "out of memory");
  CHECK(simulation.timeline.end_s == Approx(7));
}

}  // namespace
}  // namespace tune::test
