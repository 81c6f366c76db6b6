#include "support/resource_ledger.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "support/broken_invariant.hpp"

namespace tune::test {
namespace {

constexpr std::int64_t one_device = 1000;

std::int64_t share_of_each(const ResourceGrant& grant) {
  return std::min(grant.amounts.amount("gpu"), one_device);
}

void check_devices(const ResourceGrant& grant, const ResourceAmounts& capacity) {
  const std::int64_t gpu = grant.amounts.amount("gpu");
  const std::int64_t devices = gpu == 0 ? 0 : std::max<std::int64_t>(1, gpu / one_device);
  const std::string text = grant.amounts.describe();
  if (static_cast<std::int64_t>(grant.gpu_ids.size()) != devices) {
    throw BrokenInvariant(text + " comes with " + std::to_string(grant.gpu_ids.size()) +
                          " device ids");
  }
  if (std::set<int>(grant.gpu_ids.begin(), grant.gpu_ids.end()).size() != grant.gpu_ids.size()) {
    throw BrokenInvariant(text + " comes with the same device twice");
  }
  for (const int id : grant.gpu_ids) {
    if (id < 0 || id * one_device >= capacity.amount("gpu")) {
      throw BrokenInvariant(text + " comes with device " + std::to_string(id) + " of a node with " +
                            capacity.describe());
    }
  }
}

}  // namespace

void ResourceLedger::join(NodeId node, const ResourceAmounts& capacity) {
  nodes_[node] = Node{capacity, {}, {}};
  capacities_.push_back(capacity);
}

bool ResourceLedger::is_feasible(const ResourceAmounts& request) const {
  return std::any_of(capacities_.begin(), capacities_.end(),
                     [&](const ResourceAmounts& capacity) { return capacity.covers(request); });
}

void ResourceLedger::leave(NodeId node) { nodes_.erase(node); }

void ResourceLedger::grant(NodeId id, const ResourceGrant& grant) {
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) {
    throw BrokenInvariant("launch on node " + std::to_string(id.value()) + ", which is not there");
  }
  Node& node = found->second;
  check_devices(grant, node.capacity);
  node.used += grant.amounts;
  if (!node.capacity.covers(node.used)) {
    throw BrokenInvariant("node " + std::to_string(id.value()) + " has " +
                          node.capacity.describe() + " and now gives " + node.used.describe());
  }
  for (const int device : grant.gpu_ids) {
    std::int64_t& used = node.gpu_used[device];
    used += share_of_each(grant);
    if (used > one_device) {
      throw BrokenInvariant("device " + std::to_string(device) + " of node " +
                            std::to_string(id.value()) + " is given away more than once");
    }
  }
}

void ResourceLedger::release(NodeId id, const ResourceGrant& grant) {
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return;  // gone with its node
  found->second.used -= grant.amounts;
  for (const int device : grant.gpu_ids) found->second.gpu_used[device] -= share_of_each(grant);
}

std::vector<NodeId> ResourceLedger::present() const {
  std::vector<NodeId> ids;
  for (const auto& [id, node] : nodes_) ids.push_back(id);
  return ids;
}

ResourceAmounts ResourceLedger::free(NodeId node) const {
  ResourceAmounts free = nodes_.at(node).capacity;
  free -= nodes_.at(node).used;
  return free;
}

std::int64_t ResourceLedger::count_fits(const ResourceAmounts& request, std::int64_t limit) const {
  std::int64_t fits = 0;
  for (const auto& [id, node] : nodes_) {
    std::int64_t here = limit;
    for (const auto& [name, amount] : request.amounts()) {
      here = std::min(here, (node.capacity.amount(name) - node.used.amount(name)) / amount);
    }
    fits += here;
  }
  return std::min(fits, limit);
}

}  // namespace tune::test
