#include "infeasible_text.hpp"

#include <algorithm>
#include <cstddef>

#include "core/resources_json.hpp"

namespace tune::engine {
namespace {

using OfferedNodes = std::vector<OfferedNode>;

std::string text_of(const std::string& name, std::int64_t amount) {
  ResourceAmounts amounts;
  amounts.set(name, amount);
  return amount == 0 ? "0 " + name : amounts.describe();
}

OfferedNodes with_labels(const OfferedNodes& nodes, const Labels& labels) {
  OfferedNodes chosen;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(chosen),
               [&](const OfferedNode& node) { return core::has_labels(node.labels, labels); });
  return chosen;
}

std::string missing_label_text(const Labels& labels, const OfferedNodes& nodes) {
  for (const auto& label : labels) {
    if (with_labels(nodes, {label}).empty()) return "no node has label " + core::describe({label});
  }
  return "no node has all of the labels " + core::describe(labels);
}

std::string too_large_text(const ResourceAmounts& wanted, const OfferedNodes& nodes,
                           const std::string& how) {
  std::string text;
  for (const auto& [name, amount] : wanted.amounts()) {
    std::int64_t largest = 0;
    for (const OfferedNode& node : nodes) {
      largest = std::max(largest, node.room.amounts.amount(name));
    }
    if (amount <= largest) continue;
    text += (text.empty() ? "" : "; ") + ("requested " + text_of(name, amount)) + how +
            ", largest node " + text_of(name, largest);
  }
  return text;
}

/// What is too much of one part, which needs all of it on one node; empty if some node has it.
std::string part_text(const BundleRequest& part, const OfferedNodes& all) {
  const OfferedNodes nodes = with_labels(all, part.labels);
  if (nodes.empty() && !part.labels.empty()) return missing_label_text(part.labels, all);
  const bool has_room = std::any_of(nodes.begin(), nodes.end(), [&](const OfferedNode& node) {
    return node.room.fit(part.amounts).has_value();
  });
  if (has_room) return {};
  std::string text = too_large_text(part.amounts, nodes, "");
  if (text.empty()) text = "requested " + part.amounts.describe() + ", which no single node has";
  return part.labels.empty() ? text : text + " with " + core::describe(part.labels);
}

/// Where each part would find room alone.
std::string gang_text(const ResourceRequest& request, const OfferedNodes& nodes) {
  const std::string strategy = " (" + std::string(to_string(request.strategy)) + ")";
  const ResourceAmounts total = request.total();
  if (request.strategy == GangStrategy::strict_pack) {
    const std::string text = too_large_text(total, nodes, " together" + strategy);
    return text.empty() ? "requested " + request.describe() + ", which no single node has" : text;
  }
  const std::size_t parts = 1 + request.workers.size();
  if (request.strategy == GangStrategy::strict_spread && parts > nodes.size()) {
    return "requested " + std::to_string(parts) + " nodes" + strategy + ", there are " +
           std::to_string(nodes.size());
  }
  ResourceAmounts all;
  for (const OfferedNode& node : nodes) all += node.room.amounts;
  for (const auto& [name, amount] : total.amounts()) {
    if (amount <= all.amount(name)) continue;
    return "requested " + text_of(name, amount) + " together, all nodes have " +
           text_of(name, all.amount(name));
  }
  return "requested " + request.describe() + ", for which the nodes have no room at one time";
}

}  // namespace

std::string infeasible_text(const ResourceRequest& request, const OfferedNodes& nodes) {
  if (std::string text = part_text(request.own, nodes); !text.empty()) return text;
  for (std::size_t rank = 0; rank < request.workers.size(); ++rank) {
    const std::string text = part_text(request.workers[rank], nodes);
    if (!text.empty()) return "worker " + std::to_string(rank) + ": " + text;
  }
  return request.is_gang() ? gang_text(request, nodes)
                           : "requested " + request.describe() + ", which no single node has";
}

}  // namespace tune::engine
