#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace tune::runtime {

/// The cores that a grant was given, or none: then its processes run wherever the kernel puts them.
struct CoreGrant {
  struct Share {
    int core = 0;
    std::int64_t thousandths = 0;
    friend bool operator==(const Share&, const Share&) = default;
  };
  std::vector<Share> shares;  ///< Whole cores first, ascending among themselves, then the fraction.

  [[nodiscard]] bool is_pinned() const { return !shares.empty(); }
  [[nodiscard]] std::vector<int> cores() const;
};

/// Hands out the cores of this machine in exact thousandths, so that processes which are pinned to
/// them never have a core more than once over. Deterministic.
class CoreMap {
 public:
  CoreMap() = default;
  /// @pre ids are distinct
  explicit CoreMap(const std::vector<int>& cores);

  /// Gives `cpu` thousandths: whole cores from entirely free ones, a fraction from the core with
  /// the smallest remainder that suffices. Among those that will do, `preferred` cores come first,
  /// in their order, then the lower ids. Not pinned, and nothing taken, if `cpu` is 0 or the cores
  /// do not suffice: what is left is scattered in fractions, or the capacity was set by hand above
  /// the number of cores. O(cores log cores).
  [[nodiscard]] CoreGrant take(std::int64_t cpu, std::span<const int> preferred = {});

  /// @pre `grant` came from take() of this map and was not given back
  void give_back(const CoreGrant& grant);

  /// Thousandths that are free, together and on one core; 0 for a core that is not in the map.
  [[nodiscard]] std::int64_t free() const;
  [[nodiscard]] std::int64_t free(int core) const;

 private:
  std::map<int, std::int64_t> free_;  // thousandths by core
};

}  // namespace tune::runtime
