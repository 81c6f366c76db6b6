#include "engine/placement.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>

#include <tune/error.hpp>

#include "core/resources_json.hpp"
#include "gang_plan.hpp"
#include "infeasible_text.hpp"
#include "room.hpp"

namespace tune::engine {

class Placement::Nodes {
  /// By what nodes are told apart: two with the same look are as good for any request.
  struct Look {
    Look(const Room& room, const Labels& node_labels)
        : amounts(room.amounts.amounts()), devices(room.devices), labels(node_labels) {
      std::sort(devices.begin(), devices.end());
    }
    std::map<std::string, std::int64_t> amounts;
    std::vector<std::int64_t> devices;
    Labels labels;
    friend bool operator<(const Look& a, const Look& b) {
      return std::tie(a.amounts, a.devices, a.labels) < std::tie(b.amounts, b.devices, b.labels);
    }
  };
  using Looks = std::map<Look, std::set<NodeId>>;

 public:
  struct Node {
    std::string name;
    bool present = false;
    Labels labels;
    ResourceAmounts offered;
    Room capacity;  // what is not lost of it
    Room free;
    std::int64_t lost_grants = 0;
  };

  [[nodiscard]] std::optional<Grant> plan(const ResourceRequest& request) const {
    return request.is_gang()
               ? plan_parts(request, looks_, [this](NodeId id) { return nodes_.at(id).free; })
               : plan_one(request.own);
  }

  /// Whether the nodes could hold it when they are as `room_of` says.
  template <class RoomOf>
  [[nodiscard]] bool holds(const ResourceRequest& request, bool only_present,
                           const RoomOf& room_of) const {
    const auto counts = [&](const Node& node) { return node.present || !only_present; };
    if (!request.is_gang()) {
      return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& entry) {
        const Node& node = entry.second;
        return counts(node) && core::has_labels(node.labels, request.own.labels) &&
               room_of(node).fit(request.own.amounts).has_value();
      });
    }
    Looks looks;
    for (const auto& [id, node] : nodes_) {
      if (counts(node)) looks[Look(room_of(node), node.labels)].insert(id);
    }
    return plan_parts(request, looks, [&](NodeId id) { return room_of(nodes_.at(id)); })
        .has_value();
  }

  void join(NodeId id, std::string name, const ResourceAmounts& capacity, Labels labels) {
    Node& node = nodes_[id];
    TUNE_ASSERT(!node.present);
    node.name = std::move(name);
    node.present = true;
    node.labels = std::move(labels);
    node.offered = capacity;
    node.capacity = Room(capacity);
    node.free = node.capacity;
    node.lost_grants = 0;
    note(id, node);
    for (const auto& [kind, amount] : capacity.amounts()) {
      largest_.set(kind, std::max(largest_.amount(kind), amount));
    }
    forget_answers();
  }

  void leave(NodeId id) {
    const auto found = nodes_.find(id);
    if (found == nodes_.end() || !found->second.present) return;
    forget(id, found->second);
    found->second.present = false;
    forget_answers();
  }

  void take(NodeId id, const ResourceGrant& grant) {
    change_free(id, [&](Node& node) { node.free.take(grant); });
  }
  void give_back(NodeId id, const ResourceGrant& grant) {
    change_free(id, [&](Node& node) {
      node.free.give_back(grant);
      TUNE_ASSERT(node.capacity.amounts.covers(node.free.amounts));
    });
  }
  void lose(NodeId id, const ResourceGrant& grant) {
    const auto found = nodes_.find(id);
    if (found == nodes_.end() || !found->second.present) return;
    found->second.capacity.take(grant);
    forget_answers();
  }
  void count_lost_grant(NodeId id) {
    const auto found = nodes_.find(id);
    if (found != nodes_.end() && found->second.present) ++found->second.lost_grants;
  }

  /// Answers to the same question, as the usual request asks it again and again.
  template <class Answer>
  bool remembered(std::optional<std::pair<ResourceRequest, bool>>& memory,
                  const ResourceRequest& request, const Answer& answer) {
    if (!memory || !(memory->first == request)) memory.emplace(request, answer());
    return memory->second;
  }

  std::map<NodeId, Node> nodes_;  // those that left too: they may come back
  std::optional<std::pair<ResourceRequest, bool>> could_fit_;
  std::optional<std::pair<ResourceRequest, bool>> is_feasible_;

 private:
  // Each kind of node is looked at once.
  [[nodiscard]] std::optional<Grant> plan_one(const BundleRequest& request) const {
    std::optional<std::pair<Fitness, NodeId>> best;
    for (const auto& [look, ids] : looks_) {
      const Node& node = nodes_.at(*ids.begin());
      if (!core::has_labels(look.labels, request.labels) || !node.free.fit(request.amounts)) {
        continue;
      }
      const std::pair choice(fitness(node.free, node.labels, request, largest_), *ids.begin());
      if (!best || choice < *best) best = choice;
    }
    if (!best) return std::nullopt;
    auto gpu_ids = nodes_.at(best->second).free.fit(request.amounts);
    return Grant{best->second, {request.amounts, *std::move(gpu_ids)}};
  }

  // Of each kind no more nodes than there are parts can matter.
  template <class RoomOf>
  [[nodiscard]] std::optional<Grant> plan_parts(const ResourceRequest& request, const Looks& looks,
                                                const RoomOf& room_of) const {
    std::vector<Site> sites;
    for (const auto& [look, ids] : looks) {
      std::size_t left = 1 + request.workers.size();
      for (auto id = ids.begin(); id != ids.end() && left > 0; ++id, --left) {
        sites.push_back({*id, &nodes_.at(*id).labels, room_of(*id)});
      }
    }
    std::sort(sites.begin(), sites.end(),
              [](const Site& a, const Site& b) { return a.node < b.node; });
    auto plan = plan_gang(request, sites, largest_);
    if (!plan) return std::nullopt;
    const PlannedPart& own = plan->front();
    Grant grant{sites[own.site].node, {request.own.amounts, own.gpu_ids}};
    for (std::size_t i = 0; i < request.workers.size(); ++i) {
      const PlannedPart& part = (*plan)[i + 1];
      grant.workers.push_back({sites[part.site].node, {request.workers[i].amounts, part.gpu_ids}});
    }
    return grant;
  }

  template <class Change>
  void change_free(NodeId id, const Change& change) {
    const auto found = nodes_.find(id);
    if (found == nodes_.end() || !found->second.present) return;
    forget(id, found->second);
    change(found->second);
    note(id, found->second);
  }

  void note(NodeId id, const Node& node) { looks_[Look(node.free, node.labels)].insert(id); }
  void forget(NodeId id, const Node& node) {
    const auto found = looks_.find(Look(node.free, node.labels));
    found->second.erase(id);
    if (found->second.empty()) looks_.erase(found);
  }

  void forget_answers() {
    could_fit_.reset();
    is_feasible_.reset();
  }

  Looks looks_;              // of the nodes that are present, by what is free of them
  ResourceAmounts largest_;  // amount of each kind that a node has ever come with
};

Placement::Placement() : nodes_(std::make_unique<Nodes>()) {}
Placement::~Placement() = default;
Placement::Placement(Placement&&) noexcept = default;
Placement& Placement::operator=(Placement&&) noexcept = default;

void Placement::add_node(NodeId id, std::string name, const ResourceAmounts& capacity,
                         Labels labels) {
  nodes_->join(id, std::move(name), capacity, std::move(labels));
}

void Placement::remove_node(NodeId id) { nodes_->leave(id); }

std::optional<Placement::Grant> Placement::place(const ResourceRequest& request) {
  std::optional<Grant> grant = nodes_->plan(request);
  if (!grant) return std::nullopt;
  nodes_->take(grant->node, grant->resources);
  for (const WorkerGrant& worker : grant->workers) nodes_->take(worker.node, worker.resources);
  return grant;
}

bool Placement::take(const Grant& grant) {
  const auto found = nodes_->nodes_.find(grant.node);
  if (found == nodes_->nodes_.end() || !found->second.free.has(grant.resources)) return false;
  nodes_->take(grant.node, grant.resources);
  return true;
}

void Placement::release(const Grant& grant) {
  nodes_->give_back(grant.node, grant.resources);
  for (const WorkerGrant& worker : grant.workers) {
    nodes_->give_back(worker.node, worker.resources);
  }
}

void Placement::lose(const Grant& grant) {
  nodes_->count_lost_grant(grant.node);
  nodes_->lose(grant.node, grant.resources);
  for (const WorkerGrant& worker : grant.workers) nodes_->lose(worker.node, worker.resources);
}

std::map<NodeId, ResourceAmounts> Placement::capacities() const {
  std::map<NodeId, ResourceAmounts> capacities;
  for (const auto& [id, node] : nodes_->nodes_) {
    if (node.present) capacities.emplace(id, node.capacity.amounts);
  }
  return capacities;
}

bool Placement::has_nodes() const {
  return std::any_of(nodes_->nodes_.begin(), nodes_->nodes_.end(),
                     [](const auto& entry) { return entry.second.present; });
}

bool Placement::is_present(NodeId id) const {
  const auto found = nodes_->nodes_.find(id);
  return found != nodes_->nodes_.end() && found->second.present;
}

std::string Placement::node_name(NodeId id) const {
  const auto found = nodes_->nodes_.find(id);
  return found == nodes_->nodes_.end() ? std::string() : found->second.name;
}

bool Placement::fits(const ResourceRequest& request) const {
  return nodes_->plan(request).has_value();
}

bool Placement::could_fit(const ResourceRequest& request) const {
  return nodes_->remembered(nodes_->could_fit_, request, [&] {
    return nodes_->holds(request, true, [](const Nodes::Node& node) { return node.capacity; });
  });
}

bool Placement::is_feasible(const ResourceRequest& request) const {
  return nodes_->remembered(nodes_->is_feasible_, request, [&] {
    return nodes_->holds(request, false, [](const Nodes::Node& node) { return node.capacity; });
  });
}

bool Placement::is_lost(const ResourceRequest& request) const {
  return !is_feasible(request) &&
         nodes_->holds(request, false, [](const Nodes::Node& node) { return Room(node.offered); });
}

std::int64_t Placement::lost_grants() const {
  std::int64_t lost = 0;
  for (const auto& [id, node] : nodes_->nodes_) lost += node.lost_grants;
  return lost;
}

std::string Placement::explain_infeasible(const ResourceRequest& request) const {
  std::vector<OfferedNode> offers;
  for (const auto& [id, node] : nodes_->nodes_) offers.push_back({node.capacity, node.labels});
  return infeasible_text(request, offers);
}

std::optional<ResourceAmounts> Placement::free(NodeId id) const {
  const auto found = nodes_->nodes_.find(id);
  if (found == nodes_->nodes_.end() || !found->second.present) return std::nullopt;
  return found->second.free.amounts;
}

}  // namespace tune::engine
