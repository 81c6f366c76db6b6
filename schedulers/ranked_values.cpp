#include "ranked_values.hpp"

#include <tune/error.hpp>

namespace tune::schedulers {

void RankedValues::insert(double value) {
  TUNE_ASSERT(nodes_.size() < none);
  const auto added = static_cast<Index>(nodes_.size());
  const auto priority = static_cast<std::uint32_t>(priorities_.next() >> 32U);
  nodes_.push_back({.value = value, .priority = priority});

  // Down to where its priority belongs; what is below there is parted into its two subtrees.
  Index* place = &root_;
  while (*place != none && nodes_[*place].priority >= priority) {
    Node& node = nodes_[*place];
    ++node.size;
    place = is_better(mode_, value, node.value) ? &node.better : &node.worse;
  }
  split(*place, value, nodes_[added].better, nodes_[added].worse);
  update_size(added);
  *place = added;
}

std::size_t RankedValues::count_better(double value) const {
  std::size_t count = 0;
  Index index = root_;
  while (index != none) {
    const Node& node = nodes_[index];
    if (is_better(mode_, node.value, value)) {
      count += size_of(node.better) + 1;
      index = node.worse;
    } else {
      index = node.better;
    }
  }
  return count;
}

double RankedValues::at(std::size_t index) const {
  TUNE_ASSERT(index < size());
  Index place = root_;
  for (;;) {
    const Node& node = nodes_[place];
    const std::size_t before = size_of(node.better);
    if (index == before) return node.value;
    if (index < before) {
      place = node.better;
    } else {
      index -= before + 1;
      place = node.worse;
    }
  }
}

std::vector<double> RankedValues::values() const {
  std::vector<double> values;
  values.reserve(size());
  append_values(root_, values);
  return values;
}

// Parts the subtree of `node` into what stands before a new `value` and what stands behind it. O(1)
// expected for an insertion.
void RankedValues::split(Index node, double value, Index& before, Index& behind) {
  if (node == none) {
    before = none;
    behind = none;
  } else if (is_better(mode_, value, nodes_[node].value)) {
    behind = node;
    split(nodes_[node].better, value, before, nodes_[node].better);
    update_size(node);
  } else {
    before = node;
    split(nodes_[node].worse, value, nodes_[node].worse, behind);
    update_size(node);
  }
}

void RankedValues::update_size(Index node) {
  Node& parent = nodes_[node];
  parent.size = size_of(parent.better) + 1 + size_of(parent.worse);
}

void RankedValues::append_values(Index node, std::vector<double>& values) const {
  if (node == none) return;
  append_values(nodes_[node].better, values);
  values.push_back(nodes_[node].value);
  append_values(nodes_[node].worse, values);
}

}  // namespace tune::schedulers
