#include "ranked_values.hpp"

#include <tune/error.hpp>

namespace tune::schedulers {

void RankedValues::insert(double value) { root_ = insert_below(root_, value); }

std::size_t RankedValues::count_better(double value) const {
  std::size_t count = 0;
  Index index = root_;
  while (index != none) {
    const Node& node = nodes_[index];
    if (is_better(mode_, node.value, value)) {
      count += size_of(node.better) + node.copies;
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
    if (index < before) {
      place = node.better;
    } else if (index < before + node.copies) {
      return node.value;
    } else {
      index -= before + node.copies;
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

RankedValues::Index RankedValues::insert_below(Index node, double value) {
  if (node == none) {
    TUNE_ASSERT(nodes_.size() < none);
    nodes_.push_back({.value = value, .priority = priorities_.next()});
    return static_cast<Index>(nodes_.size() - 1);
  }
  if (is_better(mode_, value, nodes_[node].value)) {
    const Index child = insert_below(nodes_[node].better, value);
    nodes_[node].better = child;
    if (nodes_[child].priority > nodes_[node].priority) return lift_better(node);
  } else if (is_better(mode_, nodes_[node].value, value)) {
    const Index child = insert_below(nodes_[node].worse, value);
    nodes_[node].worse = child;
    if (nodes_[child].priority > nodes_[node].priority) return lift_worse(node);
  } else {
    ++nodes_[node].copies;
  }
  update_size(node);
  return node;
}

// Rotations: the child takes the place of `node`, which becomes its child.
RankedValues::Index RankedValues::lift_better(Index node) {
  const Index child = nodes_[node].better;
  nodes_[node].better = nodes_[child].worse;
  nodes_[child].worse = node;
  update_size(node);
  update_size(child);
  return child;
}

RankedValues::Index RankedValues::lift_worse(Index node) {
  const Index child = nodes_[node].worse;
  nodes_[node].worse = nodes_[child].better;
  nodes_[child].better = node;
  update_size(node);
  update_size(child);
  return child;
}

void RankedValues::update_size(Index node) {
  Node& parent = nodes_[node];
  parent.size = size_of(parent.better) + parent.copies + size_of(parent.worse);
}

void RankedValues::append_values(Index node, std::vector<double>& values) const {
  if (node == none) return;
  append_values(nodes_[node].better, values);
  values.insert(values.end(), nodes_[node].copies, nodes_[node].value);
  append_values(nodes_[node].worse, values);
}

}  // namespace tune::schedulers
