#include <tune/simulate.hpp>

#include <stdexcept>
#include <utility>

#include <tune/schedulers/builtin.hpp>
#include <tune/schedulers/fifo.hpp>
#include <tune/searchers/automatic.hpp>
#include <tune/searchers/builtin.hpp>

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
  std::uint64_t id = 0;
  for (const LocalResources& node : sim::nodes_of(cluster)) {
    placement.add_node(NodeId{id++}, {}, ResourceAmounts(node), node.labels);
  }
  const ResourceRequest request(experiment.resources);
  if (request.total().amounts().empty() && experiment.max_concurrent == 0) {
    throw std::invalid_argument(
        "resources: a trial that asks for nothing needs max_concurrent to be set");
  }
  if (placement.is_feasible(request)) return;
  throw std::invalid_argument("resources: " + placement.explain_infeasible(request) +
                              "; the cluster says what its nodes offer");
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

/// The fields that were set and have no effect, in words; empty if there are none.
std::string ignored_fields(const Experiment& experiment) {
  const Experiment defaults;
  std::string names;
  const auto note = [&](const char* name, bool is_set) {
    if (is_set) names += (names.empty() ? "" : ", ") + std::string(name);
  };
  note("storage_path", experiment.storage_path != defaults.storage_path);
  note("isolation", experiment.isolation != defaults.isolation);
  note("reuse_workers", experiment.reuse_workers != defaults.reuse_workers);
  note("resume", experiment.resume != defaults.resume);
  note("local", experiment.local.cpus != defaults.local.cpus ||
                    experiment.local.gpus != defaults.local.gpus ||
                    experiment.local.memory != defaults.local.memory ||
                    !experiment.local.custom.empty() || !experiment.local.labels.empty());
  // Without exporters nothing is written, as here.
  note("exporters", experiment.exporters != defaults.exporters && !experiment.exporters.empty());
  note("show_output", experiment.show_output != defaults.show_output);
  return names.empty() ? names : names + ": no effect in a simulation";
}

void check_callbacks(const Experiment& experiment) {
  for (const std::shared_ptr<Callback>& callback : experiment.callbacks) {
    if (!callback) throw std::invalid_argument("callbacks: one of them is a null pointer");
  }
}

}  // namespace

Simulation simulate(Experiment& experiment, const Cluster& cluster, Workload& workload,
                    const SimulationOptions& options) {
  register_builtin_schedulers();
  register_builtin_searchers();
  engine::refuse_taken(experiment);
  const engine::DefaultsFilled defaults(experiment, fifo(), automatic());
  const TrainableSpec trainable = describe_workload(workload);
  sim::check_cluster(cluster);
  engine::check_numbers(experiment);
  engine::check_objectives(experiment);
  engine::check_checkpoints(trainable, experiment);
  check_requests(experiment, cluster);
  check_callbacks(experiment);
  if (!experiment.resume_from.empty()) {
    throw std::invalid_argument("resume_from is \"" + experiment.resume_from +
                                "\": a simulation starts from no checkpoint on disk");
  }
  const ExperimentInfo info = describe_simulation(trainable, experiment);

  sim::StageSetup setup;
  setup.objective = info.objective;
  setup.checkpoint = experiment.checkpoint;
  setup.step_timeout_s = experiment.step_timeout.count();
  setup.seed = info.seed;
  setup.callbacks = experiment.callbacks;
  setup.suggestions = engine::take_searcher(experiment, info);
  const engine::EngineOptions engine_options =
      engine::engine_options(trainable, experiment, info, *setup.suggestions);
  setup.engine =
      std::make_unique<engine::Engine>(engine_options, engine::take_scheduler(experiment));
  sim::Stage stage(std::move(setup), cluster, workload, options);
  if (std::string ignored = ignored_fields(experiment); !ignored.empty()) {
    stage.warn(std::move(ignored));
  }
  return stage.run(info);
}

}  // namespace tune
