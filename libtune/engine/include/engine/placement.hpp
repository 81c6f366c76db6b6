#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tune/ids.hpp>
#include <tune/resources.hpp>

namespace tune::engine {

/// Who has what of the cluster's resources. Exact: what is granted and given back adds up.
///
/// A request for up to one GPU is met by one device that has that much left; a larger one by whole
/// free devices. The node with the lowest id that fits is taken.
class Placement {
 public:
  struct Grant {
    NodeId node;
    ResourceGrant resources;
  };

  /// @pre a node of that id is not present. One that comes back offers `capacity` anew.
  void add_node(NodeId node, std::string name, const ResourceAmounts& capacity);
  /// Grants on it are gone with it.
  void remove_node(NodeId node);

  [[nodiscard]] std::optional<Grant> place(const ResourceAmounts& request);
  void release(const Grant& grant);
  /// The grant does not come back: the node's capacity shrinks by it.
  void lose(const Grant& grant);

  /// What the nodes that are present offer when empty, less what was lost.
  [[nodiscard]] std::map<NodeId, ResourceAmounts> capacities() const;
  [[nodiscard]] bool has_nodes() const;
  [[nodiscard]] bool is_present(NodeId node) const;
  [[nodiscard]] std::string node_name(NodeId node) const;
  [[nodiscard]] bool fits(const ResourceAmounts& request) const;
  /// True if some node that is present could hold it when empty.
  [[nodiscard]] bool could_fit(const ResourceAmounts& request) const;
  /// True if some node, present or gone for now, could hold it when empty.
  [[nodiscard]] bool is_feasible(const ResourceAmounts& request) const;
  /// True if only what was lost keeps every node from holding it.
  [[nodiscard]] bool is_lost(const ResourceAmounts& request) const;
  /// Grants that did not come back.
  [[nodiscard]] std::int64_t lost_grants() const;
  /// "requested 11 cpu, largest node 4": what of an infeasible request is too much.
  [[nodiscard]] std::string explain_infeasible(const ResourceAmounts& request) const;
  [[nodiscard]] std::optional<ResourceAmounts> free(NodeId node) const;

 private:
  struct Node {
    std::string name;
    bool present = false;
    ResourceAmounts offered;
    ResourceAmounts capacity;  // what is not lost of it
    std::int64_t lost_grants = 0;
    ResourceAmounts free;                    // "gpu" included
    std::vector<std::int64_t> gpu_capacity;  // thousandths of each device that are not lost
    std::vector<std::int64_t> gpu_free;      // and what is free of them
  };
  [[nodiscard]] static std::optional<ResourceGrant> fit(const ResourceAmounts& free,
                                                        const std::vector<std::int64_t>& gpu_free,
                                                        const ResourceAmounts& request);
  static void take(Node& node, const ResourceGrant& grant);
  static std::int64_t share(const ResourceGrant& grant);

  std::map<NodeId, Node> nodes_;  // those that left too: they may come back
};

}  // namespace tune::engine
