#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include <tune/resources.hpp>

namespace tune::engine {

/// What of a node can be given away: amounts, and how much of each of its devices.
struct Room {
  Room() = default;
  /// All devices whole.
  explicit Room(const ResourceAmounts& offered);

  /// The devices for a request, or empty if it does not fit. A fraction goes to the device that
  /// has least to spare, so that whole ones stay whole.
  [[nodiscard]] std::optional<std::vector<int>> fit(const ResourceAmounts& request) const;
  [[nodiscard]] bool has(const ResourceGrant& grant) const;
  /// @pre the grant is of this room
  void take(const ResourceGrant& grant);
  void give_back(const ResourceGrant& grant);

  ResourceAmounts amounts;            // "gpu" included
  std::vector<std::int64_t> devices;  // thousandths of each
  friend bool operator==(const Room&, const Room&) = default;
};

/// How well a request fits where it fits: the less, the better.
struct Fitness {
  std::int64_t unasked = 0;      // kinds of things that it blocks and has no use for
  std::int64_t device_rest = 0;  // of the device that it shares; of whole ones, how many stay free
  std::int64_t rest = 0;         // what stays free, each kind as a share of the largest node's
  friend auto operator<=>(const Fitness&, const Fitness&) = default;
};
/// @pre `request` fits
/// @param largest the largest amount of each kind that a node has
[[nodiscard]] Fitness fitness(const Room& room, const Labels& labels, const BundleRequest& request,
                              const ResourceAmounts& largest);

}  // namespace tune::engine
