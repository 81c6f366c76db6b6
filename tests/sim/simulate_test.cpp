#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/random.hpp>
#include <tune/registry.hpp>
#include <tune/schedulers/builtin.hpp>
#include <tune/searchers/random.hpp>
#include <tune/simulate.hpp>

#include "support/seed.hpp"

namespace tune::test {
namespace {

constexpr std::int64_t last_iteration = 9;

/// Falls with the iteration towards `x`; a step takes one second.
std::unique_ptr<Workload> falling() {
  return curve_model([](const Config& config, std::int64_t iteration) {
    const double loss = config["x"].get<double>() + 1 / static_cast<double>(iteration);
    return SimulatedStep{.metrics = {{"loss", loss}}, .done = iteration >= last_iteration};
  });
}

Experiment small_experiment(const std::string& scheduler = "fifo",
                            const Json& options = Json::object()) {
  register_builtin_schedulers();
  Experiment experiment;
  experiment.searcher = random_search();
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.num_samples = 8;
  experiment.seed = 5;
  experiment.scheduler = make_scheduler(scheduler, options);
  return experiment;
}

Cluster slots(double cpus) {
  Cluster cluster;
  cluster.node.cpus = cpus;
  return cluster;
}

TEST_CASE("a simulation takes the time that its steps say", "[simulate]") {
  const Simulation simulation = simulate(small_experiment(), slots(2), falling());
  CHECK(simulation.results.size() == 8);
  CHECK(simulation.timeline.end_s == Approx(4 * 9));
  CHECK(simulation.timeline.mean_utilisation() == Approx(1));
  CHECK(simulation.busy_s == Approx(8 * 9));
  for (const TrialResult& trial : simulation.results) {
    CHECK(trial.state == TrialState::terminated);
    CHECK(trial.history().size() == 9);
  }
  const TrialResult best = simulation.results.best();
  CHECK(simulation.timeline.incumbents.back().trial == best.id);
}

TEST_CASE("a simulation charges start-up, checkpoints and thinking", "[simulate]") {
  Experiment experiment = small_experiment();
  experiment.num_samples = 1;
  experiment.checkpoint.every = 3;
  Cluster cluster = slots(1);
  cluster.startup_s = 10;
  cluster.save_s = 100;
  cluster.suggestion_s = 1000;
  const Simulation simulation = simulate(experiment, cluster, falling());
  // The third save falls into the end.
  CHECK(simulation.timeline.end_s == Approx(1000 + 10 + 9 + 3 * 100));

  Experiment other = small_experiment();
  other.num_samples = 1;
  Cluster thinking = slots(1);
  thinking.decision_s = 0.5;
  CHECK(simulate(other, thinking, falling()).timeline.end_s > 9);
}

TEST_CASE("definitions and clusters that cannot work are refused", "[simulate]") {
  Experiment experiment = small_experiment();
  Cluster cluster;
  cluster.drop_chance = 2;
  CHECK_THROWS_WITH(simulate(experiment, cluster, falling()),
                    "cluster: drop_chance must be from 0 to 1, is 2");
  experiment.resources.cpu = 3;
  CHECK_THROWS_AS(simulate(experiment, slots(2), falling()), std::invalid_argument);
  experiment.resources.cpu = 1;
  CHECK(simulate(experiment, slots(2), falling()).results.size() == 8);
  CHECK_THROWS_AS(simulate(experiment, slots(2), falling()), std::invalid_argument);
  const auto endless = curve_model([](const Config&, std::int64_t) {
    return SimulatedStep{.metrics = {{"loss", 1}}, .seconds = INFINITY};
  });
  CHECK_THROWS_AS(simulate(small_experiment(), slots(2), endless), std::invalid_argument);
}

TEST_CASE("a simulation ends when no node will come back", "[simulate]") {
  Cluster cluster = slots(1);
  cluster.node_losses = 0.2;
  const Simulation simulation = simulate(small_experiment(), cluster, falling());
  CHECK(simulation.results.interrupted());
  CHECK(simulation.results.experiment_end().unfinished_trials == 1);
}

TEST_CASE("curves are read from CSV and JSON", "[simulate]") {
  std::istringstream csv(
      "trial_id,training_iteration,loss,time_this_iter_s\n"
      "a,1,0.9,2\na,2,0.8,2\nb,1,0.7,5\n");
  Experiment experiment = small_experiment();
  experiment.num_samples = 2;
  const Simulation simulation =
      simulate(experiment, slots(1), curve_table(CurveTable::from_csv(csv)));
  CHECK(simulation.timeline.end_s == Approx(4 + 5));
  CHECK(simulation.results.best().id == TrialId{1});
  const CurveTable table =
      CurveTable::from_json({{{{"loss", 0.5}, {"time_this_iter_s", 3}}, {{"loss", 0.4}}}});
  CHECK(table.size() == 1);
  CHECK(table[0][0].seconds == 3);
  CHECK(table[0][1].metrics.at("loss").as_double() == 0.4);
  std::istringstream gap("training_iteration,loss\n2,0.5\n");
  CHECK_THROWS_WITH(CurveTable::from_csv(gap),
                    "curve table, line 2: training_iteration is 2, want 1");
}

/// Counts its steps, which take longer and longer, and can save the count.
class Counter : public Trainable {
 public:
  Metrics step() override {
    ++count_;
    return {{"loss", 1.0 / count_}, {"simulated_seconds", count_}, {"done", count_ == 3}};
  }
  void save_checkpoint(const std::filesystem::path&) override {}
  void load_checkpoint(const std::filesystem::path&) override {}

 private:
  int count_ = 0;
};

TEST_CASE("a Trainable says how long its steps would take", "[simulate]") {
  Experiment experiment = small_experiment();
  experiment.num_samples = 2;
  const Simulation simulation = simulate(experiment, slots(1), trainable_workload<Counter>());
  CHECK(simulation.timeline.end_s == Approx(2 * (1 + 2 + 3)));
  CHECK_FALSE(simulation.results[0].metrics.contains("simulated_seconds"));
}

TEST_CASE("a timeline is bounded, and written as CSV and SVG", "[simulate]") {
  Experiment experiment = small_experiment();
  experiment.num_samples = 500;
  const Simulation simulation = simulate(experiment, slots(3), falling());
  CHECK(simulation.timeline.samples.size() <= 1024);
  CHECK(simulation.timeline.samples.size() > 256);
  std::ostringstream csv;
  simulation.timeline.write_csv(csv);
  CHECK(csv.str().starts_with("time_s,utilisation,running,queue,paused,incumbent\r\n0,1,3,"));
  std::ostringstream svg;
  simulation.timeline.write_svg(svg);
  CHECK(svg.str().find("incumbent") != std::string::npos);
  CHECK(svg.str().ends_with("</svg>\n"));
  CHECK(simulation.timeline.time_to(-1) == std::nullopt);
}

/// Where trials and their workers were, by the configuration's "kind".
class Places final : public Workload {
 public:
  SimulatedSetup begin(const SimulatedStart& start) override {
    std::set<std::uint64_t>& nodes = nodes_[start.config["kind"].get<std::string>()];
    nodes.insert(start.node->value());
    for (const WorkerGrant& worker : start.workers) nodes.insert(worker.node.value());
    most_workers_ = std::max(most_workers_, start.workers.size());
    return {};
  }
  SimulatedStep step(const SimulatedStart&, std::int64_t) override {
    return {.metrics = {{"loss", 1.0}}, .done = true};
  }
  std::map<std::string, std::set<std::uint64_t>> nodes_;
  std::size_t most_workers_ = 0;
};

TEST_CASE("a simulation has nodes of several kinds, with labels, and gangs", "[simulate]") {
  Experiment experiment = small_experiment();
  experiment.space = {{"kind", grid_search({"in_b", "spread", "anywhere"})}};
  experiment.searcher = nullptr;
  experiment.num_samples = 2;
  experiment.resources.of = [](const Config& config) {
    const auto kind = config["kind"].get<std::string>();
    if (kind == "in_b") return Resources{.labels = {{"zone", "b"}}};
    if (kind == "spread") {
      return Resources{.workers = std::vector<Bundle>(2), .strategy = GangStrategy::strict_spread};
    }
    return Resources{};
  };
  const Cluster cluster{
      .nodes = 2,
      .node = {.cpus = 1},
      .more_nodes = {{.nodes = 1, .node = {.cpus = 4, .labels = {{"zone", "b"}}}}}};
  Places places;
  const Simulation simulation = simulate(experiment, cluster, places);
  REQUIRE(simulation.results.size() == 6);
  for (const TrialResult& trial : simulation.results) CHECK(trial.state == TrialState::terminated);
  CHECK(places.nodes_["in_b"] == std::set<std::uint64_t>{2});
  CHECK(places.nodes_["spread"] == std::set<std::uint64_t>{0, 1, 2});
  CHECK(places.most_workers_ == 2);
}

TEST_CASE("what no node of a simulated cluster can hold is refused", "[simulate]") {
  const auto refusal = [](const Resources& resources, Cluster cluster) -> std::string {
    Experiment experiment = small_experiment();
    experiment.resources = resources;
    try {
      (void)simulate(experiment, cluster, falling());
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "nothing was refused";
  };
  CHECK(refusal({.labels = {{"zone", "c"}}}, slots(1)) ==
        "resources: no node has label zone=c; the cluster says what its nodes offer");
  CHECK(refusal({.workers = {{}}}, {.nodes = 2}) == "nothing was refused");
  Cluster none = slots(1);
  none.more_nodes = {{.nodes = 0}};
  CHECK(refusal({}, none) == "cluster: more_nodes[0].nodes must be at least 1, is 0");
  none.more_nodes = {{.node = {}}};
  CHECK_THAT(refusal({}, none), Catch::Contains("more_nodes[0].node.cpus must be set"));
}

}  // namespace
}  // namespace tune::test
