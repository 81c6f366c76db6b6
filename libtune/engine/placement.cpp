#include "engine/placement.hpp"

#include <algorithm>

#include <tune/error.hpp>

namespace tune::engine {
namespace {

constexpr std::int64_t whole_gpu = 1000;

std::string amount_text(const std::string& name, std::int64_t amount) {
  ResourceAmounts amounts;
  amounts.set(name, amount);
  return amount == 0 ? "0 " + name : amounts.describe();
}

std::vector<std::int64_t> devices_of(const ResourceAmounts& offered) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(offered.amount("gpu") / whole_gpu),
                                   whole_gpu);
}

}  // namespace

void Placement::add_node(NodeId id, std::string name, const ResourceAmounts& capacity) {
  Node& node = nodes_[id];
  TUNE_ASSERT(!node.present);
  node.name = std::move(name);
  node.present = true;
  node.offered = capacity;
  node.capacity = capacity;
  node.lost_grants = 0;
  node.free = capacity;
  node.gpu_capacity = devices_of(capacity);
  node.gpu_free = node.gpu_capacity;
}

void Placement::remove_node(NodeId id) {
  const auto found = nodes_.find(id);
  if (found != nodes_.end()) found->second.present = false;
}

std::optional<ResourceGrant> Placement::fit(const ResourceAmounts& free,
                                            const std::vector<std::int64_t>& gpu_free,
                                            const ResourceAmounts& request) {
  if (!free.covers(request)) return std::nullopt;
  ResourceGrant grant{.amounts = request, .gpu_ids = {}};
  const std::int64_t gpu = request.amount("gpu");
  const std::int64_t each = std::min(gpu, whole_gpu);
  for (std::size_t device = 0; each > 0 && device < gpu_free.size(); ++device) {
    if (gpu_free[device] < each) continue;
    grant.gpu_ids.push_back(static_cast<int>(device));
    if (static_cast<std::int64_t>(grant.gpu_ids.size()) * each == gpu) break;
  }
  if (static_cast<std::int64_t>(grant.gpu_ids.size()) * each != gpu) return std::nullopt;
  return grant;
}

std::int64_t Placement::share(const ResourceGrant& grant) {
  return std::min(grant.amounts.amount("gpu"), whole_gpu);
}

void Placement::take(Node& node, const ResourceGrant& grant) {
  node.free -= grant.amounts;
  for (const int device : grant.gpu_ids) {
    node.gpu_free[static_cast<std::size_t>(device)] -= share(grant);
  }
}

std::optional<Placement::Grant> Placement::place(const ResourceAmounts& request) {
  for (auto& [id, node] : nodes_) {
    if (!node.present) continue;
    if (std::optional<ResourceGrant> grant = fit(node.free, node.gpu_free, request)) {
      take(node, *grant);
      return Grant{.node = id, .resources = std::move(*grant)};
    }
  }
  return std::nullopt;
}

void Placement::release(const Grant& grant) {
  const auto found = nodes_.find(grant.node);
  if (found == nodes_.end() || !found->second.present) return;
  Node& node = found->second;
  node.free += grant.resources.amounts;
  for (const int device : grant.resources.gpu_ids) {
    node.gpu_free[static_cast<std::size_t>(device)] += share(grant.resources);
  }
  TUNE_ASSERT(node.capacity.covers(node.free));
}

void Placement::lose(const Grant& grant) {
  const auto found = nodes_.find(grant.node);
  if (found == nodes_.end() || !found->second.present) return;
  Node& node = found->second;
  ++node.lost_grants;
  node.capacity -= grant.resources.amounts;
  for (const int device : grant.resources.gpu_ids) {
    node.gpu_capacity[static_cast<std::size_t>(device)] -= share(grant.resources);
  }
}

std::map<NodeId, ResourceAmounts> Placement::capacities() const {
  std::map<NodeId, ResourceAmounts> capacities;
  for (const auto& [id, node] : nodes_) {
    if (node.present) capacities.emplace(id, node.capacity);
  }
  return capacities;
}

bool Placement::has_nodes() const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [](const auto& entry) { return entry.second.present; });
}

bool Placement::is_present(NodeId id) const {
  const auto found = nodes_.find(id);
  return found != nodes_.end() && found->second.present;
}

std::string Placement::node_name(NodeId id) const {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? std::string() : found->second.name;
}

bool Placement::fits(const ResourceAmounts& request) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& entry) {
    const Node& node = entry.second;
    return node.present && fit(node.free, node.gpu_free, request).has_value();
  });
}

bool Placement::could_fit(const ResourceAmounts& request) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& entry) {
    const Node& node = entry.second;
    return node.present && fit(node.capacity, node.gpu_capacity, request).has_value();
  });
}

bool Placement::is_feasible(const ResourceAmounts& request) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& entry) {
    return fit(entry.second.capacity, entry.second.gpu_capacity, request).has_value();
  });
}

bool Placement::is_lost(const ResourceAmounts& request) const {
  return !is_feasible(request) && std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& entry) {
    const ResourceAmounts& offered = entry.second.offered;
    return fit(offered, devices_of(offered), request).has_value();
  });
}

std::int64_t Placement::lost_grants() const {
  std::int64_t lost = 0;
  for (const auto& [id, node] : nodes_) lost += node.lost_grants;
  return lost;
}

std::string Placement::explain_infeasible(const ResourceAmounts& request) const {
  std::string text;
  for (const auto& [name, amount] : request.amounts()) {
    std::int64_t largest = 0;
    for (const auto& [id, node] : nodes_) {
      largest = std::max(largest, node.capacity.amount(name));
    }
    if (amount <= largest) continue;
    if (!text.empty()) text += "; ";
    text +=
        "requested " + amount_text(name, amount) + ", largest node " + amount_text(name, largest);
  }
  if (text.empty()) text = "requested " + request.describe() + ", which no single node has";
  return text;
}

std::optional<ResourceAmounts> Placement::free(NodeId id) const {
  const auto found = nodes_.find(id);
  if (found == nodes_.end() || !found->second.present) return std::nullopt;
  return found->second.free;
}

}  // namespace tune::engine
