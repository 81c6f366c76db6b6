// Placement against books that are kept apart, over seeded histories of grants and losses, and
// against every possible packing on small clusters.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/random.hpp>

#include "engine/placement.hpp"
#include "support/resource_ledger.hpp"
#include "support/seed.hpp"

namespace tune {
namespace {

using engine::Placement;
using test::ResourceLedger;

constexpr std::int64_t whole = 1000;

std::uint64_t rounds() {
  const char* text = std::getenv("TUNE_TEST_ROUNDS");
  return text == nullptr ? TUNE_TEST_ROUNDS : std::stoull(text);
}

// --- every possible packing

/// A node with its room, as plain as it can be.
struct PlainNode {
  ResourceAmounts free;
  std::vector<std::int64_t> devices;
  Labels labels;
  bool is_used = false;
};

PlainNode plain_node(const ResourceAmounts& offered, Labels labels = {}) {
  return {offered, std::vector<std::int64_t>(offered.amount("gpu") / whole, whole),
          std::move(labels)};
}

bool has_labels(const PlainNode& node, const Labels& labels) {
  return std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
    const auto found = node.labels.find(label.first);
    return found != node.labels.end() && found->second == label.second;
  });
}

/// All that a node may be like once it has given the request.
std::vector<PlainNode> after(const PlainNode& node, const BundleRequest& request) {
  if (!node.free.covers(request.amounts) || !has_labels(node, request.labels)) return {};
  PlainNode base = node;
  base.free -= request.amounts;
  base.is_used = true;
  const std::int64_t gpu = request.amounts.amount("gpu");
  if (gpu == 0) return {base};
  std::vector<PlainNode> all;
  if (gpu < whole) {
    for (std::size_t i = 0; i < base.devices.size(); ++i) {
      if (base.devices[i] < gpu) continue;
      all.push_back(base);
      all.back().devices[i] -= gpu;
    }
    return all;
  }
  std::int64_t left = gpu / whole;
  for (std::int64_t& device : base.devices) {
    if (left > 0 && device == whole) {
      device = 0;
      --left;
    }
  }
  if (left == 0) all.push_back(base);
  return all;
}

enum class Spread { any, one_node, own_node };

bool can_hold(std::vector<PlainNode>& nodes, const std::vector<BundleRequest>& requests,
              std::size_t next, Spread spread) {
  if (next == requests.size()) return true;
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    if (spread == Spread::own_node && nodes[at].is_used) continue;
    if (spread == Spread::one_node && next > 0 && !nodes[at].is_used) continue;
    for (PlainNode& changed : after(nodes[at], requests[next])) {
      std::swap(nodes[at], changed);
      const bool holds = can_hold(nodes, requests, next + 1, spread);
      std::swap(nodes[at], changed);
      if (holds) return true;
    }
  }
  return false;
}

// --- chance

/// In thousandths, up to a whole.
double draw_fraction(Random& random) { return static_cast<double>(random.below(1001)) / 1000; }

ResourceAmounts draw_offer(Random& random) {
  return ResourceAmounts(
      LocalResources{.cpus = static_cast<double>(1 + random.below(6)),
                     .gpus = static_cast<double>(random.below(3)),
                     .memory = 1'000'000'007 + random.below(1'000'000'000),
                     .custom = {{"board", static_cast<double>(random.below(4) == 0 ? 2 : 0)},
                                {"seat", 2 * draw_fraction(random)}}});
}

Labels draw_node_labels(Random& random) {
  Labels labels{{"zone", random.below(2) == 0 ? "a" : "b"}};
  if (random.below(3) == 0) labels["disk"] = "ssd";
  return labels;
}

Labels draw_wanted_labels(Random& random) {
  Labels labels;
  if (random.below(4) == 0) labels["zone"] = random.below(2) == 0 ? "a" : "b";
  if (random.below(8) == 0) labels["disk"] = "ssd";
  return labels;
}

Bundle draw_bundle(Random& random) {
  constexpr double shares[] = {0, 0, 0, 0.25, 0.3, 0.5, 0.7, 1, 1, 2};
  return {.cpu = static_cast<double>(1 + random.below(6)) / 2,
          .gpu = shares[random.below(std::size(shares))],
          .memory = random.below(4) == 0 ? 1 + random.below(900'000'000) : 0,
          .custom = {{"board", random.below(8) == 0 ? 1.0 : 0.0},
                     {"seat", random.below(4) == 0 ? draw_fraction(random) : 0.0}},
          .labels = draw_wanted_labels(random)};
}

ResourceRequest draw_request(Random& random) {
  const Bundle own = draw_bundle(random);
  Resources resources{.cpu = own.cpu,
                      .gpu = own.gpu,
                      .memory = own.memory,
                      .custom = own.custom,
                      .labels = own.labels};
  if (random.below(2) == 0) {
    const std::uint64_t workers = 1 + random.below(3);
    for (std::uint64_t i = 0; i < workers; ++i) resources.workers.push_back(draw_bundle(random));
    resources.strategy = static_cast<GangStrategy>(random.below(4));
  }
  return ResourceRequest(resources);
}

std::vector<BundleRequest> parts_of(const ResourceRequest& request) {
  std::vector<BundleRequest> parts{request.own};
  parts.insert(parts.end(), request.workers.begin(), request.workers.end());
  return parts;
}

Spread spread_of(const ResourceRequest& request) {
  if (request.strategy == GangStrategy::strict_pack) return Spread::one_node;
  return request.strategy == GangStrategy::strict_spread ? Spread::own_node : Spread::any;
}

// --- the two side by side

/// A placement and its books, through one seeded history.
class PlacementHistory {
 public:
  explicit PlacementHistory(std::uint64_t seed) : random_(seed, "placement history") {}

  void run() {
    for (int step = 0; step < 60; ++step) {
      switch (random_.below(8)) {
        case 0:
          join_or_leave();
          break;
        case 1:
        case 2:
          give_back();
          break;
        case 3:
          if (random_.below(5) == 0) lose();
          break;
        default:
          place();
      }
      compare();
    }
  }

 private:
  void join_or_leave() {
    const NodeId node{random_.below(4)};
    if (!placement_.is_present(node)) {
      const ResourceAmounts offer = draw_offer(random_);
      Labels labels = draw_node_labels(random_);
      placement_.add_node(node, {}, offer, labels);
      ledger_.join(node, offer);
      nodes_[node] = plain_node(offer, std::move(labels));
      return;
    }
    placement_.remove_node(node);
    ledger_.leave(node);
    nodes_.erase(node);
    // As the engine does: who was there itself is gone, who had workers there has lost those.
    std::erase_if(grants_, [&](const Placement::Grant& grant) {
      if (grant.node != node) return false;
      for (const WorkerGrant& worker : grant.workers) {
        if (worker.node != node) put_back(worker.node, worker.resources);
      }
      Placement::Grant rest = grant;
      std::erase_if(rest.workers, [&](const WorkerGrant& w) { return w.node == node; });
      placement_.release(rest);
      return true;
    });
    for (Placement::Grant& grant : grants_) {
      std::erase_if(grant.workers, [&](const WorkerGrant& w) { return w.node == node; });
    }
  }

  void place() {
    const ResourceRequest request = draw_request(random_);
    std::vector<PlainNode> nodes;
    for (const auto& [id, node] : nodes_) nodes.push_back(node);
    const bool fits = placement_.fits(request);
    const bool could_fit = placement_.could_fit(request);
    const auto grant = placement_.place(request);
    INFO("request " << request.describe());
    CHECK(fits == grant.has_value());
    if (grant) {
      CHECK(could_fit);
      CHECK(placement_.is_feasible(request));
      check_layout(request, *grant, nodes);
      grants_.push_back(*grant);
    } else {
      // Nothing was overlooked.
      CHECK_FALSE(can_hold(nodes, parts_of(request), 0, spread_of(request)));
      if (!placement_.is_feasible(request)) {
        CHECK_FALSE(placement_.explain_infeasible(request).empty());
      }
    }
  }

  void check_layout(const ResourceRequest& request, const Placement::Grant& grant,
                    std::vector<PlainNode>& before) {
    REQUIRE(grant.workers.size() == request.workers.size());
    std::set<NodeId> nodes{grant.node};
    take(grant.node, grant.resources, request.own);
    for (std::size_t i = 0; i < grant.workers.size(); ++i) {
      nodes.insert(grant.workers[i].node);
      take(grant.workers[i].node, grant.workers[i].resources, request.workers[i]);
    }
    if (request.strategy == GangStrategy::strict_pack) CHECK(nodes.size() == 1);
    if (request.strategy == GangStrategy::pack) {
      const bool has_one_node = can_hold(before, parts_of(request), 0, Spread::one_node);
      CHECK((nodes.size() == 1) == has_one_node);
    }
    if (request.strategy == GangStrategy::strict_spread) {
      CHECK(nodes.size() == 1 + grant.workers.size());
    }
  }

  void take(NodeId id, const ResourceGrant& grant, const BundleRequest& wanted) {
    CHECK(grant.amounts == wanted.amounts);
    ledger_.grant(id, grant);  // throws where it is more than there is
    PlainNode& node = nodes_.at(id);
    CHECK(has_labels(node, wanted.labels));
    node.free -= grant.amounts;
    change_devices(node, grant, -1);
  }

  void put_back(NodeId id, const ResourceGrant& grant) {
    ledger_.release(id, grant);
    PlainNode& node = nodes_.at(id);
    node.free += grant.amounts;
    change_devices(node, grant, 1);
  }

  static void change_devices(PlainNode& node, const ResourceGrant& grant, std::int64_t sign) {
    const std::int64_t share = std::min(grant.amounts.amount("gpu"), whole);
    for (const int device : grant.gpu_ids) {
      node.devices.at(static_cast<std::size_t>(device)) += sign * share;
    }
  }

  std::optional<Placement::Grant> take_any_grant() {
    if (grants_.empty()) return std::nullopt;
    const auto chosen =
        grants_.begin() + static_cast<std::ptrdiff_t>(random_.below(grants_.size()));
    Placement::Grant grant = *chosen;
    grants_.erase(chosen);
    return grant;
  }

  void give_back() {
    const auto grant = take_any_grant();
    if (!grant) return;
    placement_.release(*grant);
    put_back(grant->node, grant->resources);
    for (const WorkerGrant& worker : grant->workers) put_back(worker.node, worker.resources);
  }

  void lose() {
    if (const auto grant = take_any_grant()) placement_.lose(*grant);  // the books keep it
  }

  void compare() const {
    for (const NodeId node : ledger_.present()) {
      REQUIRE(placement_.free(node) == ledger_.free(node));
    }
    for (std::uint64_t node = 0; node < 4; ++node) {
      REQUIRE(placement_.is_present(NodeId{node}) == ledger_.is_present(NodeId{node}));
    }
  }

  Random random_;
  Placement placement_;
  ResourceLedger ledger_;
  std::map<NodeId, PlainNode> nodes_;
  std::vector<Placement::Grant> grants_;
};

TEST_CASE("placement never grants more than there is, and overlooks no room",
          "[placement][property]") {
  const std::uint64_t first = test::test_seed(1);
  const std::uint64_t count = std::getenv("TUNE_TEST_SEED") != nullptr ? 1 : rounds() / 5;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    INFO("TUNE_TEST_SEED=" << seed);
    PlacementHistory(seed).run();
  }
}

/// How many of the requests, in their order, start before the first one waits.
struct Started {
  std::size_t placed = 0;
  std::size_t by_first_fit = 0;
  std::size_t possible = 0;
};

/// On the first node that has room, and its first device.
bool place_first(std::vector<PlainNode>& nodes, const BundleRequest& request) {
  for (PlainNode& node : nodes) {
    const std::vector<PlainNode> choices = after(node, request);
    if (choices.empty()) continue;
    node = choices.front();
    return true;
  }
  return false;
}

/// All parts, or none.
bool place_first(std::vector<PlainNode>& nodes, const ResourceRequest& request) {
  const std::vector<PlainNode> before = nodes;
  for (const BundleRequest& part : parts_of(request)) {
    if (place_first(nodes, part)) continue;
    nodes = before;
    return false;
  }
  return true;
}

enum class Draws { bundles, gangs_with_labels };

ResourceRequest draw_request_of(Draws draws, Random& random) {
  if (draws == Draws::bundles) {
    Bundle bundle = draw_bundle(random);
    bundle.labels = {};
    return ResourceRequest(ResourceAmounts(bundle, ""));
  }
  ResourceRequest request = draw_request(random);
  request.strategy = GangStrategy::pack;
  return request;
}

Started start_in_order(std::uint64_t seed, Draws draws) {
  const std::size_t most_parts = 9;  // all their packings are tried
  Random random(seed, "packing");
  Placement placement;
  std::vector<PlainNode> nodes;
  const std::uint64_t count = 1 + random.below(3);
  for (std::uint64_t i = 0; i < count; ++i) {
    const ResourceAmounts offer = draw_offer(random);
    const Labels labels = draws == Draws::bundles ? Labels() : draw_node_labels(random);
    placement.add_node(NodeId{i}, {}, offer, labels);
    nodes.push_back(plain_node(offer, labels));
  }
  std::vector<PlainNode> filled = nodes;
  std::vector<BundleRequest> parts;
  Started started;
  bool waits = false;
  bool first_waits = false;
  for (int tries = 0; parts.size() < most_parts && tries < 200; ++tries) {
    const ResourceRequest request = draw_request_of(draws, random);
    if (!placement.is_feasible(request)) continue;
    const std::vector<BundleRequest> more = parts_of(request);
    if (parts.size() + more.size() > most_parts) break;
    parts.insert(parts.end(), more.begin(), more.end());
    if (!waits && placement.place(request)) {
      ++started.placed;
    } else {
      waits = true;
    }
    if (!first_waits && place_first(filled, request)) {
      ++started.by_first_fit;
    } else {
      first_waits = true;
    }
    if (!can_hold(nodes, parts, 0, Spread::any)) break;
    ++started.possible;
  }
  return started;
}

TEST_CASE("placement packs nearly as well as the best packing", "[placement][property]") {
  const Draws draws = GENERATE(Draws::bundles, Draws::gangs_with_labels);
  const std::uint64_t count = rounds() / 2;
  std::uint64_t optimal = 0;
  Started sum;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    const Started started = start_in_order(seed, draws);
    REQUIRE(started.placed <= started.possible);
    if (started.placed == started.possible) ++optimal;
    sum.placed += started.placed;
    sum.by_first_fit += started.by_first_fit;
    sum.possible += started.possible;
  }
  INFO(optimal << " of " << count << " are optimal; " << sum.placed << " of " << sum.possible
               << " start, by first fit " << sum.by_first_fit);
  CHECK(optimal * 100 >= count * 88);
  CHECK(sum.placed * 100 >= sum.possible * 94);
  CHECK(sum.placed > sum.by_first_fit);
}

}  // namespace
}  // namespace tune
