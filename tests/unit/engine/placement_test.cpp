#include "engine/placement.hpp"

#include <set>
#include <stdexcept>

#include <catch2/catch.hpp>

namespace tune::engine {
namespace {

ResourceAmounts amounts(double cpu, double gpu = 0, std::map<std::string, double> custom = {}) {
  return ResourceAmounts(Resources{.cpu = cpu, .gpu = gpu, .custom = std::move(custom)});
}

TEST_CASE("RS-02: fractions of a device add up exactly", "[RS-02]") {
  Placement placement;
  placement.add_node(NodeId{0}, "a", amounts(100, 1));
  for (const auto& [share, fits] : {std::pair(0.3, 3), std::pair(0.1, 10), std::pair(0.5, 2)}) {
    const ResourceAmounts request = amounts(0.1, share);
    for (int cycle = 0; cycle < 1000; ++cycle) {
      std::vector<Placement::Grant> grants;
      while (auto grant = placement.place(request)) grants.push_back(*grant);
      REQUIRE(static_cast<int>(grants.size()) == fits);
      for (const Placement::Grant& grant : grants) placement.release(grant);
    }
    CHECK(placement.free(NodeId{0}) == amounts(100, 1));
  }
  CHECK_THROWS_AS(amounts(1, 1.5), std::invalid_argument);
}

TEST_CASE("whole devices are given to one trial each", "[placement]") {
  Placement placement;
  placement.add_node(NodeId{0}, "a", amounts(8, 4));
  const auto two = placement.place(amounts(1, 2));
  const auto half = placement.place(amounts(1, 0.5));
  const auto one = placement.place(amounts(1, 1));
  REQUIRE((two && half && one));
  std::set<int> devices(two->resources.gpu_ids.begin(), two->resources.gpu_ids.end());
  devices.insert(half->resources.gpu_ids.begin(), half->resources.gpu_ids.end());
  devices.insert(one->resources.gpu_ids.begin(), one->resources.gpu_ids.end());
  CHECK(devices.size() == 4);
  CHECK_FALSE(placement.place(amounts(1, 1)));  // half a device is left
  CHECK(placement.place(amounts(1, 0.5)));      // and serves this one
  CHECK_FALSE(placement.place(amounts(1, 0.001)));
}

TEST_CASE("a request that fits the sum of the nodes but none of them is not placed",
          "[placement]") {
  Placement placement;
  placement.add_node(NodeId{0}, "a", amounts(3));
  placement.add_node(NodeId{1}, "b", amounts(3));
  CHECK_FALSE(placement.place(amounts(4)));
  CHECK_FALSE(placement.is_feasible(amounts(4)));
  CHECK(placement.explain_infeasible(amounts(4)) == "requested 4 cpu, largest node 3 cpu");
}

TEST_CASE("a request whose parts no single node has is explained as a whole", "[placement]") {
  Placement placement;
  placement.add_node(NodeId{0}, "a", amounts(8));
  placement.add_node(NodeId{1}, "b", amounts(1, 2));
  CHECK_FALSE(placement.is_feasible(amounts(2, 1)));
  CHECK_THAT(placement.explain_infeasible(amounts(2, 1)), Catch::Contains("no single node"));
}

TEST_CASE("RS-04: a custom resource that no node offers is named", "[RS-04]") {
  Placement placement;
  placement.add_node(NodeId{0}, "a", amounts(4));
  const ResourceAmounts request = amounts(1, 0, {{"license", 1}});
  CHECK_FALSE(placement.is_feasible(request));
  CHECK_THAT(placement.explain_infeasible(request), Catch::Contains("license"));
  placement.add_node(NodeId{1}, "b", amounts(8, 0, {{"license", 2}}));
  CHECK(placement.place(request));
  CHECK(placement.place(request));
  CHECK_FALSE(placement.place(request));
}

TEST_CASE("a node that comes back offers all it has; what it held before is forgotten",
          "[placement]") {
  Placement placement;
  placement.add_node(NodeId{0}, "a", amounts(2));
  const auto grant = placement.place(amounts(2));
  REQUIRE(grant);
  placement.remove_node(NodeId{0});
  CHECK_FALSE(placement.has_nodes());
  CHECK(placement.is_feasible(amounts(2)));  // it may come back
  CHECK_FALSE(placement.free(NodeId{0}));
  placement.add_node(NodeId{0}, "a", amounts(2));
  CHECK(placement.free(NodeId{0}) == amounts(2));
}

TEST_CASE("what is lost is neither free nor feasible", "[placement]") {
  Placement placement;
  placement.add_node(NodeId{0}, "a", amounts(2, 2));
  const auto lost = placement.place(amounts(1, 1));
  REQUIRE(lost);
  placement.lose(*lost);
  CHECK(placement.free(NodeId{0}) == amounts(1, 1));
  CHECK_FALSE(placement.is_feasible(amounts(2)));
  CHECK_FALSE(placement.is_feasible(amounts(1, 2)));
  CHECK(placement.is_feasible(amounts(1, 1)));
}

TEST_CASE("halves of two devices are no whole device, not even when all else is free",
          "[placement]") {
  Placement placement;
  placement.add_node(NodeId{0}, "a", amounts(4, 2));
  const auto first = placement.place(amounts(1, 0.6));
  const auto second = placement.place(amounts(1, 0.6));
  REQUIRE((first && second));
  placement.lose(*first);
  placement.lose(*second);
  CHECK_FALSE(placement.fits(amounts(1, 0.5)));
  CHECK_FALSE(placement.is_feasible(amounts(1, 0.5)));
}

}  // namespace
}  // namespace tune::engine
