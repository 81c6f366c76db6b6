#include "cluster_faults.hpp"

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

#include <tune/random.hpp>

#include "core/number_text.hpp"

namespace tune::sim {
namespace {

[[noreturn]] void refuse_field(const std::string& field, const std::string& allowed, double value) {
  throw std::invalid_argument("cluster: " + field + " must be " + allowed + ", is " +
                              core::number_text(value));
}

void require_amount(const std::string& field, double value) {
  if (!(value >= 0) || !std::isfinite(value)) refuse_field(field, "at least 0 and finite", value);
}

void require_chance(const std::string& field, double value) {
  if (!(value >= 0 && value <= 1)) refuse_field(field, "from 0 to 1", value);
}

void check_node(const std::string& place, const LocalResources& node) {
  if (node.cpus >= 0) return;
  throw std::invalid_argument("cluster: " + place +
                              ".cpus must be set: nothing is discovered in a simulation");
}

}  // namespace

std::vector<LocalResources> nodes_of(const Cluster& cluster) {
  std::vector<LocalResources> nodes(static_cast<std::size_t>(cluster.nodes), cluster.node);
  for (const NodeGroup& group : cluster.more_nodes) {
    nodes.insert(nodes.end(), static_cast<std::size_t>(group.nodes), group.node);
  }
  return nodes;
}

void check_cluster(const Cluster& cluster) {
  if (cluster.nodes < 1) {
    throw std::invalid_argument("cluster: nodes must be at least 1, is " +
                                std::to_string(cluster.nodes));
  }
  check_node("node", cluster.node);
  for (std::size_t i = 0; i < cluster.more_nodes.size(); ++i) {
    const std::string place = "more_nodes[" + std::to_string(i) + "].";
    if (cluster.more_nodes[i].nodes < 1) {
      throw std::invalid_argument("cluster: " + place + "nodes must be at least 1, is " +
                                  std::to_string(cluster.more_nodes[i].nodes));
    }
    check_node(place + "node", cluster.more_nodes[i].node);
  }
  require_amount("startup_s", cluster.startup_s);
  require_amount("save_s", cluster.save_s);
  require_amount("load_s", cluster.load_s);
  require_amount("straggler_sd", cluster.straggler_sd);
  require_chance("drop_chance", cluster.drop_chance);
  require_chance("step_failure_chance", cluster.step_failure_chance);
  require_amount("node_losses", cluster.node_losses);
  require_amount("node_return_s", cluster.node_return_s);
  require_amount("suggestion_s", cluster.suggestion_s);
  require_amount("decision_s", cluster.decision_s);
}

double ClusterFaults::exponential(double rate, std::string_view purpose, std::uint64_t id,
                                  std::uint64_t index) const {
  if (!(rate > 0)) return never;
  return -std::log1p(-Random(seed_, purpose, id, index).uniform()) / rate;
}

double ClusterFaults::slowness(TrialId trial, std::uint32_t incarnation) const {
  if (cluster_.straggler_sd == 0) return 1;
  Random random(seed_, "sim straggler", trial.value(), incarnation);
  return 1 + std::abs(cluster_.straggler_sd * random.normal());
}

double ClusterFaults::dropped_after(TrialId trial, std::uint32_t incarnation) const {
  return exponential(-std::log1p(-cluster_.drop_chance), "sim drop", trial.value(), incarnation);
}

bool ClusterFaults::fails(TrialId trial, std::uint32_t incarnation, std::int64_t iteration) const {
  if (cluster_.step_failure_chance == 0) return false;
  constexpr unsigned iteration_bits = 40;
  const std::uint64_t index =
      (std::uint64_t{incarnation} << iteration_bits) + static_cast<std::uint64_t>(iteration);
  return Random(seed_, "sim failure", trial.value(), index).uniform() <
         cluster_.step_failure_chance;
}

double ClusterFaults::lost_after(NodeId node, std::uint64_t joining) const {
  return exponential(cluster_.node_losses, "sim node loss", node.value(), joining);
}

double ClusterFaults::back_after(NodeId node, std::uint64_t joining) const {
  if (cluster_.node_return_s == 0) return never;
  return exponential(1 / cluster_.node_return_s, "sim node return", node.value(), joining);
}

}  // namespace tune::sim
