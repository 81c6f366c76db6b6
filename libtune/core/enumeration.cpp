#include "core/enumeration.hpp"

#include <utility>

namespace tune::core {
namespace {

using Count = std::optional<std::uint64_t>;

Count product(Count a, Count b) {
  std::uint64_t result = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &result)) return std::nullopt;
  return result;
}

Count sum(Count a, Count b) {
  std::uint64_t result = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &result)) return std::nullopt;
  return result;
}

std::vector<std::string> below(std::vector<std::string> names, const std::string& name) {
  names.push_back(name);
  return names;
}

bool has_grid_axis(const SearchSpace& space) {
  for (const SpaceEntry& entry : space.entries()) {
    switch (entry.domain.kind()) {
      case Domain::Kind::grid_search:
        return true;
      case Domain::Kind::space:
        if (has_grid_axis(entry.domain.space())) return true;
        break;
      case Domain::Kind::branch:
        for (const Domain::Branch& branch : entry.domain.branches()) {
          if (has_grid_axis(branch.space)) return true;
        }
        break;
      default:
        break;
    }
  }
  return false;
}

bool has_grid_axis(const Domain& branch) {
  for (const Domain::Branch& option : branch.branches()) {
    if (has_grid_axis(option.space)) return true;
  }
  return false;
}

}  // namespace

Enumeration::Enumeration(const SearchSpace& space, Axes axes, const Json& fixed) {
  append(root_, space, {}, axes, fixed);
}

void Enumeration::append_axis(Sequence& sequence, Axis axis) {
  sequence.count = product(sequence.count, axis.count);
  sequence.axes.push_back(std::move(axis));
}

void Enumeration::append(Sequence& sequence, const SearchSpace& space,
                         const std::vector<std::string>& above, Axes axes, const Json& fixed) {
  for (const SpaceEntry& entry : space.entries()) {
    Axis axis;
    axis.domain = &entry.domain;
    axis.names = below(above, entry.name);
    switch (entry.domain.kind()) {
      case Domain::Kind::space:
        append(sequence, entry.domain.space(), axis.names, axes, fixed);
        break;
      case Domain::Kind::branch:
        append_branch(sequence, std::move(axis), above, axes, fixed);
        break;
      case Domain::Kind::constant:
      case Domain::Kind::sample_from:
        break;
      default:
        if (axes == Axes::grid && entry.domain.kind() != Domain::Kind::grid_search) break;
        if (find_path(fixed, axis.names) != nullptr) break;
        axis.count = entry.domain.count();
        append_axis(sequence, std::move(axis));
    }
  }
}

void Enumeration::append_branch(Sequence& sequence, Axis axis,
                                const std::vector<std::string>& above, Axes axes,
                                const Json& fixed) {
  if (axes == Axes::grid && !has_grid_axis(*axis.domain)) return;
  const Json* key = find_path(fixed, axis.names);
  axis.count = 0;
  for (const Domain::Branch& branch : axis.domain->branches()) {
    if (key != nullptr) {
      if (is_identical(*key, branch.key)) append(sequence, branch.space, above, axes, fixed);
      continue;
    }
    Sequence& inner = axis.branches.emplace_back();
    append(inner, branch.space, above, axes, fixed);
    axis.count = sum(axis.count, inner.count);
  }
  if (key == nullptr) append_axis(sequence, std::move(axis));
}

void Enumeration::put(std::uint64_t index, Json& config) const { put(root_, index, config); }

void Enumeration::put(const Sequence& sequence, std::uint64_t index, Json& config) {
  for (std::size_t i = sequence.axes.size(); i-- > 0;) {
    const Axis& axis = sequence.axes[i];
    put(axis, index % *axis.count, config);
    index /= *axis.count;
  }
}

void Enumeration::put(const Axis& axis, std::uint64_t index, Json& config) {
  if (axis.domain->kind() != Domain::Kind::branch) {
    set_path(config, axis.names, axis.domain->value_at(index));
    return;
  }
  std::size_t key = 0;
  while (index >= *axis.branches[key].count) index -= *axis.branches[key++].count;
  set_path(config, axis.names, axis.domain->branches()[key].key);
  put(axis.branches[key], index, config);
}

std::optional<std::uint64_t> Enumeration::index_of(const Json& config) const {
  return index_of(root_, config);
}

std::optional<std::uint64_t> Enumeration::index_of(const Sequence& sequence, const Json& config) {
  std::uint64_t index = 0;
  for (const Axis& axis : sequence.axes) {
    const Count digit = index_of(axis, config);
    if (!digit) return std::nullopt;
    index = index * *axis.count + *digit;
  }
  return index;
}

std::optional<std::uint64_t> Enumeration::index_of(const Axis& axis, const Json& config) {
  const Json* value = find_path(config, axis.names);
  if (value == nullptr) return std::nullopt;
  const Count position = axis.domain->index_of(*value);
  if (!position || axis.domain->kind() != Domain::Kind::branch) return position;
  const Count inside = index_of(axis.branches[*position], config);
  if (!inside) return std::nullopt;
  std::uint64_t index = *inside;
  for (std::size_t i = 0; i < *position; ++i) index += *axis.branches[i].count;
  return index;
}

}  // namespace tune::core
