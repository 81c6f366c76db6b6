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
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
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
    std::uint32_t priority = 0;  // none below it has a higher one
    std::uint32_t size = 1;      // values in the subtree
    Index better = none;         // the subtree of better ones, or equal ones that came before
    Index worse = none;
  };

  [[nodiscard]] std::uint32_t size_of(Index node) const {
    return node == none ? 0 : nodes_[node].size;
  }
  void split(Index node, double value, Index& before, Index& behind);
  void update_size(Index node);
  void append_values(Index node, std::vector<double>& values) const;

  Mode mode_;
  std::vector<Node> nodes_;
  Index root_ = none;
  Random priorities_{0};
};

}  // namespace tune::schedulers
