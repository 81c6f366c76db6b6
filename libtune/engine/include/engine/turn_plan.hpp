#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include <tune/json.hpp>
#include <tune/search_space.hpp>

#include "core/enumeration.hpp"

namespace tune::engine {

/// The order in which the cells of the grid get their turns: all cells, num_samples times over. A
/// space without grid axes is one cell.
class TurnPlan {
 public:
  /// `samples` is empty if there is no end. The space must outlive the object.
  /// @throws std::invalid_argument if the turns cannot be counted in 64 bits.
  TurnPlan(const SearchSpace& space, core::Enumeration::Axes axes,
           std::optional<std::uint64_t> samples);

  [[nodiscard]] std::uint64_t cells() const { return cells_; }
  /// Turns in all, taken ones included; empty if there is no end.
  [[nodiscard]] std::optional<std::uint64_t> total() const { return total_; }
  [[nodiscard]] std::uint64_t cell_of(std::uint64_t turn) const { return turn % cells_; }
  /// The cell of a configuration; empty if it is in none.
  [[nodiscard]] std::optional<std::uint64_t> find_cell(const Json& config) const {
    return axes_.index_of(config);
  }
  /// Puts the axes of a cell into `config`.
  void put(std::uint64_t cell, Json& config) const { axes_.put(cell, config); }

  /// Takes the earliest free turn of a cell that agrees with the axes that `point` names; empty if
  /// there is none.
  std::optional<std::uint64_t> take(const Json& point);
  [[nodiscard]] bool is_taken(std::uint64_t turn) const { return taken_.contains(turn); }
  /// What all calls of take() together cost; for tests.
  [[nodiscard]] std::uint64_t turns_looked_at() const { return turns_looked_at_; }

 private:
  const SearchSpace& space_;
  core::Enumeration::Axes which_;
  core::Enumeration axes_;
  std::uint64_t cells_ = 1;
  std::optional<std::uint64_t> samples_;
  std::optional<std::uint64_t> total_;
  std::unordered_set<std::uint64_t> taken_;  // only looked up
  // Of the cells that agree with a point, by their first and last: how many of their turns, sample
  // by sample, were looked at. All of these are taken, and none is ever given back.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> next_of_;
  std::uint64_t turns_looked_at_ = 0;
};

}  // namespace tune::engine
