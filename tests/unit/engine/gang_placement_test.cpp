#include <set>
#include <stdexcept>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/placement.hpp"

namespace tune::engine {
namespace {

using Catch::Contains;

ResourceAmounts offer(double cpus, double gpus = 0) {
  return ResourceAmounts(LocalResources{.cpus = cpus, .gpus = gpus});
}

ResourceRequest gang(std::size_t workers, const Bundle& bundle, GangStrategy strategy,
                     const Labels& labels = {}) {
  return ResourceRequest(Resources{
      .labels = labels, .workers = std::vector<Bundle>(workers, bundle), .strategy = strategy});
}

std::multiset<std::uint64_t> nodes_of(const Placement::Grant& grant) {
  std::multiset<std::uint64_t> nodes{grant.node.value()};
  for (const WorkerGrant& worker : grant.workers) nodes.insert(worker.node.value());
  return nodes;
}

// Nodes 0, 1, ... with so many cores.
Placement nodes_with(const std::vector<double>& cpus) {
  Placement placement;
  for (std::size_t i = 0; i < cpus.size(); ++i) placement.add_node(NodeId{i}, {}, offer(cpus[i]));
  return placement;
}

TEST_CASE("a trial runs only where its labels are", "[placement]") {
  Placement placement;
  placement.add_node(NodeId{0}, "a", offer(8), {{"zone", "a"}});
  placement.add_node(NodeId{1}, "b", offer(1), {{"zone", "b"}, {"disk", "ssd"}});
  const ResourceRequest in_b(Resources{.labels = {{"zone", "b"}}});
  const auto grant = placement.place(in_b);
  REQUIRE(grant);
  CHECK(grant->node == NodeId{1});
  CHECK_FALSE(placement.fits(in_b));
  CHECK(placement.could_fit(in_b));
  placement.release(*grant);
  CHECK(placement.fits(in_b));
  // One that asks for nothing of the kind leaves the special node to others.
  CHECK(placement.place(ResourceRequest(Resources{}))->node == NodeId{0});
  // A node may come back with other labels.
  placement.remove_node(NodeId{1});
  placement.add_node(NodeId{1}, "b", offer(1), {{"zone", "c"}});
  CHECK_FALSE(placement.is_feasible(in_b));
}

TEST_CASE("what no label or node has is named", "[placement][RS-01]") {
  Placement placement;
  placement.add_node(NodeId{0}, "a", offer(4), {{"zone", "a"}});
  placement.add_node(NodeId{1}, "b", offer(2, 2), {{"disk", "ssd"}});
  const auto text = [&](const Resources& resources) {
    const ResourceRequest request(resources);
    CHECK_FALSE(placement.is_feasible(request));
    return placement.explain_infeasible(request);
  };
  CHECK(text({.labels = {{"zone", "c"}}}) == "no node has label zone=c");
  CHECK(text({.labels = {{"zone", "a"}, {"disk", "ssd"}}}) ==
        "no node has all of the labels disk=ssd, zone=a");
  CHECK(text({.cpu = 3, .labels = {{"disk", "ssd"}}}) ==
        "requested 3 cpu, largest node 2 cpu with disk=ssd");
  CHECK(text({.workers = {{}, {.cpu = 1, .gpu = 3}}}) ==
        "worker 1: requested 3 gpu, largest node 2 gpu");
  CHECK(text({.workers = {{.labels = {{"zone", "b"}}}}}) == "worker 0: no node has label zone=b");
  CHECK(text({.cpu = 2, .workers = {{.cpu = 4}, {.cpu = 1}}}) ==
        "requested 7 cpu together, all nodes have 6 cpu");
  CHECK(text({.workers = {{.cpu = 4}}, .strategy = GangStrategy::strict_pack}) ==
        "requested 5 cpu together (strict_pack), largest node 4 cpu");
  CHECK(text({.workers = {{}, {}}, .strategy = GangStrategy::strict_spread}) ==
        "requested 3 nodes (strict_spread), there are 2");
  CHECK_THAT(text({.cpu = 3, .workers = {{.cpu = 3}}}), Contains("no room at one time"));
}

TEST_CASE("a packed gang takes the one node that it fills best", "[placement]") {
  Placement placement = nodes_with({8, 4, 2, 2});
  const auto grant = placement.place(gang(3, {}, GangStrategy::pack));
  REQUIRE(grant);
  CHECK(nodes_of(*grant) == std::multiset<std::uint64_t>{1, 1, 1, 1});
  CHECK(placement.free(NodeId{1}) == ResourceAmounts());
}

TEST_CASE("a packed gang that no node holds takes few nodes", "[placement]") {
  Placement placement = nodes_with({1, 1, 4, 1, 2});
  const auto grant = placement.place(gang(5, {}, GangStrategy::pack));
  REQUIRE(grant);
  CHECK(nodes_of(*grant) == std::multiset<std::uint64_t>{2, 2, 2, 2, 4, 4});
  placement.release(*grant);
  CHECK_FALSE(placement.place(gang(5, {}, GangStrategy::strict_pack)));
  CHECK(placement.place(gang(3, {}, GangStrategy::strict_pack)));
}

TEST_CASE("a spread gang lies evenly", "[placement]") {
  Placement placement = nodes_with({4, 4, 4});
  const auto grant = placement.place(gang(5, {}, GangStrategy::spread));
  REQUIRE(grant);
  CHECK(nodes_of(*grant) == std::multiset<std::uint64_t>{0, 0, 1, 1, 2, 2});
}

TEST_CASE("a strictly spread gang has a node for each part, or none", "[placement]") {
  Placement placement = nodes_with({4, 4, 4});
  CHECK_FALSE(placement.place(gang(3, {}, GangStrategy::strict_spread)));
  const auto grant = placement.place(gang(2, {}, GangStrategy::strict_spread));
  REQUIRE(grant);
  CHECK(nodes_of(*grant) == std::multiset<std::uint64_t>{0, 1, 2});
}

TEST_CASE("a strictly spread gang finds the only way there is", "[placement]") {
  Placement placement;
  placement.add_node(NodeId{0}, {}, offer(1), {{"a", "1"}});
  placement.add_node(NodeId{1}, {}, offer(1), {{"a", "1"}, {"b", "1"}});
  placement.add_node(NodeId{2}, {}, offer(1), {{"b", "1"}, {"c", "1"}});
  const ResourceRequest request(
      Resources{.labels = {},
                .workers = {{.labels = {{"a", "1"}}}, {.labels = {{"b", "1"}}}},
                .strategy = GangStrategy::strict_spread});
  const auto grant = placement.place(request);
  REQUIRE(grant);
  CHECK(nodes_of(*grant) == std::multiset<std::uint64_t>{0, 1, 2});
}

TEST_CASE("a gang gets all or nothing", "[placement]") {
  Placement placement = nodes_with({2, 2});
  const auto first = placement.place(gang(1, {}, GangStrategy::strict_spread));
  REQUIRE(first);
  CHECK_FALSE(placement.place(gang(2, {}, GangStrategy::pack)));
  CHECK(placement.free(NodeId{0}) == offer(1));
  CHECK(placement.free(NodeId{1}) == offer(1));
  placement.release(*first);
  CHECK(placement.place(gang(3, {}, GangStrategy::pack)));
}

TEST_CASE("workers have devices of their own", "[placement]") {
  Placement placement;
  placement.add_node(NodeId{0}, {}, offer(16, 4));
  const auto grant = placement.place(gang(3, {.gpu = 1}, GangStrategy::strict_pack));
  REQUIRE(grant);
  std::set<int> devices;
  for (const WorkerGrant& worker : grant->workers) {
    REQUIRE(worker.resources.gpu_ids.size() == 1);
    devices.insert(worker.resources.gpu_ids[0]);
  }
  CHECK(devices.size() == 3);
  CHECK(grant->resources.gpu_ids.empty());
  const auto shared = placement.place(gang(3, {.gpu = 0.25}, GangStrategy::pack));
  REQUIRE(shared);
  for (const WorkerGrant& worker : shared->workers) {
    CHECK(worker.resources.gpu_ids == shared->workers[0].resources.gpu_ids);
  }
}

TEST_CASE("fractions share one device before they break a whole one", "[placement]") {
  Placement placement;
  placement.add_node(NodeId{0}, {}, offer(16, 2));
  placement.add_node(NodeId{1}, {}, offer(16, 2));
  const ResourceRequest third(Resources{.cpu = 0.5, .gpu = 0.3});
  std::set<std::pair<std::uint64_t, int>> devices;
  for (int i = 0; i < 3; ++i) {
    const auto grant = placement.place(third);
    REQUIRE(grant);
    devices.emplace(grant->node.value(), grant->resources.gpu_ids.at(0));
  }
  CHECK(devices.size() == 1);
  // So three whole devices are left, two of them together.
  CHECK(placement.place(ResourceRequest(Resources{.gpu = 2})));
  CHECK(placement.place(ResourceRequest(Resources{.gpu = 1})));
}

TEST_CASE("trials without devices stay off nodes that have some", "[placement]") {
  Placement placement;
  placement.add_node(NodeId{0}, {}, offer(4, 1));
  placement.add_node(NodeId{1}, {}, offer(8));
  for (int i = 0; i < 8; ++i) {
    CHECK(placement.place(ResourceRequest(Resources{}))->node == NodeId{1});
  }
  CHECK(placement.place(ResourceRequest(Resources{}))->node == NodeId{0});
}

TEST_CASE("what a gang loses is gone on each of its nodes", "[placement]") {
  Placement placement = nodes_with({2, 2});
  const ResourceRequest request = gang(1, {.cpu = 2}, GangStrategy::pack);
  const auto grant = placement.place(request);
  REQUIRE(grant);
  placement.lose(*grant);
  CHECK(placement.lost_grants() == 1);
  CHECK_FALSE(placement.is_feasible(request));
  CHECK(placement.is_lost(request));
  CHECK(placement.fits(ResourceRequest(Resources{.cpu = 1})));
}

}  // namespace
}  // namespace tune::engine
