#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tune/domain.hpp>
#include <tune/json.hpp>
#include <tune/random.hpp>
#include <tune/search_space.hpp>

namespace tune::searchers {

/// A configuration as a vector: a number for each dimension of an EncodedSpace, NaN where the
/// dimension is inactive. Numeric and ordinal dimensions hold the centre of the value's quantiles,
/// in [0, 1]; categorical ones the number of the option, from 0.
using Point = std::vector<double>;

/// (a dimension, the number of its option): what must hold for another one to exist.
using Conditions = std::vector<std::pair<std::size_t, std::size_t>>;

/// One parameter that a searcher may choose.
struct Dimension {
  std::string path;
  std::vector<std::string> names;
  Domain domain;
  bool is_categorical = false;  ///< In no order: choice, grid axes, the key of a branch.
  /// How many values there are; empty for those of floating point (and for 2^53 and more).
  std::optional<std::uint64_t> count;
  Conditions conditions;  ///< On dimensions before this one; it exists where all hold.

  [[nodiscard]] bool is_continuous() const { return !count && !is_categorical; }
};

/// The free parameters of a search space (no constants, no functions) as dimensions in which every
/// value is equally likely: log, quantised, integer and normal domains are all uniform in [0, 1].
class EncodedSpace {
 public:
  EncodedSpace() = default;
  explicit EncodedSpace(const SearchSpace& space);

  [[nodiscard]] const std::vector<Dimension>& dimensions() const { return dimensions_; }
  [[nodiscard]] std::size_t size() const { return dimensions_.size(); }
  [[nodiscard]] bool is_conditional() const { return is_conditional_; }

  /// True if the conditions of dimension `d` hold; looks at dimensions before `d` alone.
  [[nodiscard]] bool is_active(std::size_t d, const Point& point) const;
  /// What `config` says; NaN where it says nothing, or what the domain does not have.
  [[nodiscard]] Point encode(const Json& config) const;
  /// `fixed` with the value of each active dimension of `point` that `fixed` leaves out. Numbers
  /// are brought to the nearest value of their domain.
  /// @pre `point` has a number for each active dimension that is not fixed
  [[nodiscard]] Json decode(const Point& point, const Json& fixed) const;
  /// The place of the value that decode() makes of `place`: on a grid the centre of its cell.
  [[nodiscard]] double snapped(std::size_t d, double place) const;
  /// The share of dimension `d` that belongs to the value at `place`: a point if continuous.
  [[nodiscard]] UnitInterval cell(std::size_t d, double place) const;
  /// Draws `d` from its domain.
  [[nodiscard]] double sample(std::size_t d, Random& random) const;
  /// Draws all that `fixed` (encoded) leaves open, each active dimension from its domain.
  [[nodiscard]] Point sample(const Point& fixed, Random& random) const;

 private:
  [[nodiscard]] std::size_t find_branch(const std::string& path,
                                        const Conditions& conditions) const;
  [[nodiscard]] Json value_at(std::size_t d, double place) const;

  std::vector<Dimension> dimensions_;
  bool is_conditional_ = false;
};

}  // namespace tune::searchers
