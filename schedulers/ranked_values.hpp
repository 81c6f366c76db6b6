#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tune/mode.hpp>
#include <tune/random.hpp>

namespace tune::schedulers {

/// A growing multiset of values in the order of is_better(), that knows ranks.
///
/// A treap (Seidel and Aragon, "Randomized Search Trees", 1996) whose nodes count what is below
/// them: O(log n) an operation, expected over its own fixed sequence of priorities.
class RankedValues {
 public:
  explicit RankedValues(Mode mode) : mode_(mode) {}

  void insert(double value);
  [[nodiscard]] std::size_t size() const { return size_of(root_); }
  /// How many values are strictly better than `value`.
  [[nodiscard]] std::size_t count_better(double value) const;
  /// The value with exactly `index` others before it, the best first. @pre `index < size()`
  [[nodiscard]] double at(std::size_t index) const;
  /// All values, the best first. O(n).
  [[nodiscard]] std::vector<double> values() const;

 private:
  using Index = std::uint32_t;
  static constexpr Index none = ~Index{0};
  struct Node {
    double value = 0;
    std::uint64_t priority = 0;
    std::size_t copies = 1;  // of this value
    std::size_t size = 1;    // values in the subtree
    Index better = none;
    Index worse = none;
  };

  [[nodiscard]] std::size_t size_of(Index node) const {
    return node == none ? 0 : nodes_[node].size;
  }
  Index insert_below(Index node, double value);
  Index lift_better(Index node);
  Index lift_worse(Index node);
  void update_size(Index node);
  void append_values(Index node, std::vector<double>& values) const;

  Mode mode_;
  std::vector<Node> nodes_;
  Index root_ = none;
  Random priorities_{0};
};

}  // namespace tune::schedulers
