#include <tune/simulate.hpp>

#include <stdexcept>
#include <utility>

#include <tune/schedulers/builtin.hpp>
#include <tune/schedulers/fifo.hpp>
#include <tune/searchers/builtin.hpp>
#include <tune/searchers/random.hpp>

#include "cluster_faults.hpp"
#include "engine/definition.hpp"
#include "engine/placement.hpp"
#include "stage.hpp"

namespace tune {
namespace {

TrainableSpec describe_workload(const Workload& workload) {
  TrainableSpec spec;
  spec.name = workload.name();
  spec.checkpoints = workload.saves_checkpoints();
  return spec;
}

void check_requests(const Experiment& experiment, const Cluster& cluster) {
  if (experiment.resources.of) return;  // known only for each configuration
  engine::Placement placement;
  placement.add_node(NodeId{0}, {}, ResourceAmounts(cluster.node));
  const ResourceAmounts request(experiment.resources);
  if (request.amounts().empty() && experiment.max_concurrent == 0) {
    throw std::invalid_argument(
        "resources: a trial that asks for nothing needs max_concurrent to be set");
  }
  if (placement.is_feasible(request)) return;
  throw std::invalid_argument("resources: " + placement.explain_infeasible(request) +
                              "; the cluster's node says what each offers");
}

ExperimentInfo describe_simulation(const TrainableSpec& trainable, const Experiment& experiment) {
  ExperimentInfo info;
  info.name = experiment.name.empty() ? trainable.name : experiment.name;
  info.has_default_name = experiment.name.empty();
  info.objective = engine::objective_of(experiment);
  info.seed = experiment.seed.value_or(0);
  info.definition = {{"trainable", trainable.name},
                     {"searcher", experiment.searcher->options()},
                     {"scheduler", experiment.scheduler->options()},
                     {"seed", info.seed}};
  return info;
}

}  // namespace

Simulation simulate(Experiment& experiment, const Cluster& cluster, Workload& workload,
                    const SimulationOptions& options) {
  register_builtin_schedulers();
  register_builtin_searchers();
  engine::refuse_taken(experiment);
  const engine::DefaultsFilled defaults(experiment, fifo(), random_search());
  const TrainableSpec trainable = describe_workload(workload);
  sim::check_cluster(cluster);
  engine::check_numbers(experiment);
  engine::check_objectives(experiment);
  engine::check_checkpoints(trainable, experiment);
  check_requests(experiment, cluster);
  const ExperimentInfo info = describe_simulation(trainable, experiment);

  sim::StageSetup setup;
  setup.objective = info.objective;
  setup.checkpoint = experiment.checkpoint;
  setup.step_timeout_s = experiment.step_timeout.count();
  setup.seed = info.seed;
  setup.suggestions = engine::take_searcher(experiment, info);
  const engine::EngineOptions engine_options =
      engine::engine_options(trainable, experiment, info, *setup.suggestions);
  setup.engine =
      std::make_unique<engine::Engine>(engine_options, engine::take_scheduler(experiment));
  return sim::Stage(std::move(setup), cluster, workload, options).run(info);
}

}  // namespace tune
