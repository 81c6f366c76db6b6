#pragma once

#include <map>
#include <optional>
#include <vector>

#include <tune/ids.hpp>
#include <tune/resources.hpp>

namespace tune::test {

/// What each node offers and what was granted of it, kept apart from the engine's own books.
/// Every method throws BrokenInvariant where a grant is more than there is.
class ResourceLedger {
 public:
  void join(NodeId node, const ResourceAmounts& capacity);
  void leave(NodeId node);
  void grant(NodeId node, const ResourceGrant& grant);
  void release(NodeId node, const ResourceGrant& grant);

  [[nodiscard]] bool is_present(NodeId node) const { return nodes_.contains(node); }
  [[nodiscard]] bool is_empty() const { return nodes_.empty(); }
  [[nodiscard]] std::vector<NodeId> present() const;
  /// True if some node that ever joined could hold it when empty.
  [[nodiscard]] bool is_feasible(const ResourceAmounts& request) const;
  [[nodiscard]] ResourceAmounts free(NodeId node) const;
  /// How many such requests fit now, devices aside, up to `limit`.
  [[nodiscard]] std::int64_t count_fits(const ResourceAmounts& request, std::int64_t limit) const;

 private:
  struct Node {
    ResourceAmounts capacity;
    ResourceAmounts used;
    std::map<int, std::int64_t> gpu_used;  // thousandths of each device
  };
  std::map<NodeId, Node> nodes_;
  std::vector<ResourceAmounts> capacities_;  // of all nodes that ever joined
};

}  // namespace tune::test
