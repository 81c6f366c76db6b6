#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tune/ids.hpp>
#include <tune/mode.hpp>

namespace tune::schedulers {

/// Trials in the order of their scores, the best first, equal ones by id. Knows ranks.
///
/// A treap as RankedValues, from which trials can be taken out again: O(log n) an operation,
/// expected over the ids.
class RankedTrials {
 public:
  explicit RankedTrials(Mode mode) : mode_(mode) {}

  struct Entry {
    TrialId id;
    double score = 0;
  };

  /// @pre the trial is not there
  void insert(const Entry& entry);
  /// @pre the trial is there with this score
  void erase(const Entry& entry);
  void clear();
  [[nodiscard]] std::size_t size() const { return size_of(root_); }
  /// How many stand before it.
  [[nodiscard]] std::size_t rank(const Entry& entry) const;
  /// The one with `index` others before it. @pre `index < size()`
  [[nodiscard]] const Entry& at(std::size_t index) const;

 private:
  using Index = std::uint32_t;
  static constexpr Index none = ~Index{0};
  struct Node {
    Entry entry;
    std::uint32_t priority = 0;  // none below it has a higher one
    std::uint32_t size = 1;
    Index before = none;
    Index behind = none;
  };

  [[nodiscard]] bool stands_before(const Entry& a, const Entry& b) const;
  [[nodiscard]] std::uint32_t size_of(Index node) const {
    return node == none ? 0 : nodes_[node].size;
  }
  void update_size(Index node);
  void split(Index node, const Entry& at, Index& before, Index& behind);
  [[nodiscard]] Index merge(Index before, Index behind);
  [[nodiscard]] Index make(const Entry& entry);

  Mode mode_;
  std::vector<Node> nodes_;
  std::vector<Index> free_;
  Index root_ = none;
};

}  // namespace tune::schedulers
