#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tune/ids.hpp>
#include <tune/resources.hpp>

namespace tune::engine {

/// Who has what of the cluster's resources. Exact: what is granted and given back adds up.
///
/// A request for up to one GPU is met by one device that has that much left; a larger one by whole
/// free devices. Of the nodes that have room the one is taken that it fits best: which has least of
/// what the request has no use for (devices, custom resources, labels), then least to spare; of
/// several the one with the lowest id. So whole devices and large nodes stay free for those who
/// need them. A gang gets all its parts or nothing; see plan_gang().
///
/// Nodes with the same free amounts and labels are looked at as one: a request costs
/// O(kinds of nodes), not O(nodes).
class Placement {
 public:
  struct Grant {
    NodeId node;
    ResourceGrant resources;
    std::vector<WorkerGrant> workers = {};  ///< By rank.
  };

  Placement();
  ~Placement();
  Placement(Placement&&) noexcept;
  Placement& operator=(Placement&&) noexcept;

  /// @pre a node of that id is not present. One that comes back offers `capacity` anew.
  void add_node(NodeId node, std::string name, const ResourceAmounts& capacity, Labels labels = {});
  /// Grants on it are gone with it: a grant of which a part lies there must have lost that part
  /// before it is given back.
  void remove_node(NodeId node);

  [[nodiscard]] std::optional<Grant> place(const ResourceRequest& request);
  /// Exactly this one, on a node that joined with it. False if the node does not have it free.
  [[nodiscard]] bool take(const Grant& grant);
  void release(const Grant& grant);
  /// The grant does not come back: the capacity of its nodes shrinks by it.
  void lose(const Grant& grant);

  /// What the nodes that are present offer when empty, less what was lost.
  [[nodiscard]] std::map<NodeId, ResourceAmounts> capacities() const;
  [[nodiscard]] bool has_nodes() const;
  [[nodiscard]] bool is_present(NodeId node) const;
  [[nodiscard]] std::string node_name(NodeId node) const;
  [[nodiscard]] bool fits(const ResourceRequest& request) const;
  /// True if the nodes that are present could hold it when empty.
  [[nodiscard]] bool could_fit(const ResourceRequest& request) const;
  /// True if all nodes, present or gone for now, could hold it when empty.
  [[nodiscard]] bool is_feasible(const ResourceRequest& request) const;
  /// True if only what was lost keeps the nodes from holding it.
  [[nodiscard]] bool is_lost(const ResourceRequest& request) const;
  /// Grants that did not come back.
  [[nodiscard]] std::int64_t lost_grants() const;
  /// "requested 11 cpu, largest node 4 cpu", "no node has label zone=c": what of an infeasible
  /// request is too much.
  [[nodiscard]] std::string explain_infeasible(const ResourceRequest& request) const;
  [[nodiscard]] std::optional<ResourceAmounts> free(NodeId node) const;

 private:
  class Nodes;
  std::unique_ptr<Nodes> nodes_;
};

}  // namespace tune::engine
