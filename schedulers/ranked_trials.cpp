#include "ranked_trials.hpp"

#include <tune/error.hpp>
#include <tune/random.hpp>

namespace tune::schedulers {

void RankedTrials::insert(const Entry& entry) {
  const Index added = make(entry);
  Index before = none;
  Index behind = none;
  split(root_, entry, before, behind);
  root_ = merge(merge(before, added), behind);
}

void RankedTrials::erase(const Entry& entry) {
  Index* place = &root_;
  while (*place != none && nodes_[*place].entry.id != entry.id) {
    Node& node = nodes_[*place];
    --node.size;
    place = stands_before(entry, node.entry) ? &node.before : &node.behind;
  }
  TUNE_ASSERT(*place != none);
  const Index erased = *place;
  *place = merge(nodes_[erased].before, nodes_[erased].behind);
  free_.push_back(erased);
}

void RankedTrials::clear() {
  nodes_.clear();
  free_.clear();
  root_ = none;
}

std::size_t RankedTrials::rank(const Entry& entry) const {
  std::size_t count = 0;
  Index index = root_;
  while (index != none) {
    const Node& node = nodes_[index];
    if (stands_before(node.entry, entry)) {
      count += size_of(node.before) + 1;
      index = node.behind;
    } else {
      index = node.before;
    }
  }
  return count;
}

const RankedTrials::Entry& RankedTrials::at(std::size_t index) const {
  TUNE_ASSERT(index < size());
  Index place = root_;
  for (;;) {
    const Node& node = nodes_[place];
    const std::size_t before = size_of(node.before);
    if (index == before) return node.entry;
    if (index < before) {
      place = node.before;
    } else {
      index -= before + 1;
      place = node.behind;
    }
  }
}

bool RankedTrials::stands_before(const Entry& a, const Entry& b) const {
  if (is_better(mode_, a.score, b.score)) return true;
  return !is_better(mode_, b.score, a.score) && a.id < b.id;
}

void RankedTrials::update_size(Index node) {
  Node& parent = nodes_[node];
  parent.size = size_of(parent.before) + 1 + size_of(parent.behind);
}

void RankedTrials::split(Index node, const Entry& at, Index& before, Index& behind) {
  if (node == none) {
    before = none;
    behind = none;
  } else if (stands_before(at, nodes_[node].entry)) {
    behind = node;
    split(nodes_[node].before, at, before, nodes_[node].before);
    update_size(node);
  } else {
    before = node;
    split(nodes_[node].behind, at, nodes_[node].behind, behind);
    update_size(node);
  }
}

RankedTrials::Index RankedTrials::merge(Index before, Index behind) {
  if (before == none) return behind;
  if (behind == none) return before;
  if (nodes_[before].priority >= nodes_[behind].priority) {
    nodes_[before].behind = merge(nodes_[before].behind, behind);
    update_size(before);
    return before;
  }
  nodes_[behind].before = merge(before, nodes_[behind].before);
  update_size(behind);
  return behind;
}

RankedTrials::Index RankedTrials::make(const Entry& entry) {
  Index index = none;
  if (free_.empty()) {
    TUNE_ASSERT(nodes_.size() < none);
    index = static_cast<Index>(nodes_.size());
    nodes_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  // By the id alone, so that the shape does not depend on what happened before.
  const std::uint64_t bits = Random(0, "ranked trials", entry.id.value()).next();
  nodes_[index] = {.entry = entry, .priority = static_cast<std::uint32_t>(bits >> 32U)};
  return index;
}

}  // namespace tune::schedulers
