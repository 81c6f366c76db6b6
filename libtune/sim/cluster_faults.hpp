#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include <tune/ids.hpp>
#include <tune/simulate.hpp>

namespace tune::sim {

/// @throws std::invalid_argument naming the field, its value and what is allowed.
void check_cluster(const Cluster& cluster);

/// What each node offers, by its id.
[[nodiscard]] std::vector<LocalResources> nodes_of(const Cluster& cluster);

/// What goes wrong on a cluster, and when. Each draw is keyed by what it is for, so that none
/// depends on the order of events.
class ClusterFaults {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  ClusterFaults(const Cluster& cluster, std::uint64_t seed) : cluster_(cluster), seed_(seed) {}

  /// By how much a start is slower.
  [[nodiscard]] double slowness(TrialId trial, std::uint32_t incarnation) const;
  /// Seconds after which a start is dropped.
  [[nodiscard]] double dropped_after(TrialId trial, std::uint32_t incarnation) const;
  [[nodiscard]] bool fails(TrialId trial, std::uint32_t incarnation, std::int64_t iteration) const;
  /// Seconds from the joining of a node, its n-th, to its loss.
  [[nodiscard]] double lost_after(NodeId node, std::uint64_t joining) const;
  /// Seconds from that loss to its return.
  [[nodiscard]] double back_after(NodeId node, std::uint64_t joining) const;

 private:
  [[nodiscard]] double exponential(double rate, std::string_view purpose, std::uint64_t id,
                                   std::uint64_t index) const;

  const Cluster& cluster_;
  std::uint64_t seed_;
};

}  // namespace tune::sim
