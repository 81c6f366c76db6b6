#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tune/json.hpp>
#include <tune/search_space.hpp>

namespace tune::core {

/// Numbers the combinations of some parameters of a space in lexicographic order, the last one
/// fastest, those of a branch only where it holds.
class Enumeration {
 public:
  enum class Axes {
    all,   ///< Everything that a searcher can choose.
    grid,  ///< grid_search, and branches that hold a grid axis anywhere below.
  };
  /// Parameters that `fixed` names are no axes; a branch that it fixes counts with what its key
  /// holds. The space must outlive the object.
  Enumeration(const SearchSpace& space, Axes axes, const Json& fixed = Json::object());

  /// Empty if an axis has uncountably many values, or for 2^64 combinations and more.
  [[nodiscard]] std::optional<std::uint64_t> count() const { return root_.count; }
  /// Puts the values of the `index`-th combination into `config`. @pre `index < *count()`
  void put(std::uint64_t index, Json& config) const;
  /// The number of the combination that `config` holds; empty if it holds none.
  /// @pre count() is not empty
  [[nodiscard]] std::optional<std::uint64_t> index_of(const Json& config) const;

 private:
  struct Axis;
  struct Sequence {
    std::vector<Axis> axes;
    std::optional<std::uint64_t> count = 1;  // of combinations of all its axes
  };
  struct Axis {
    const Domain* domain = nullptr;
    std::vector<std::string> names;
    std::vector<Sequence> branches;  // one a key, if it is a branch
    std::optional<std::uint64_t> count;
  };

  static void append(Sequence& sequence, const SearchSpace& space,
                     const std::vector<std::string>& above, Axes axes, const Json& fixed);
  static void append_branch(Sequence& sequence, Axis axis, const std::vector<std::string>& above,
                            Axes axes, const Json& fixed);
  static void append_axis(Sequence& sequence, Axis axis);
  static void put(const Sequence& sequence, std::uint64_t index, Json& config);
  static void put(const Axis& axis, std::uint64_t index, Json& config);
  static std::optional<std::uint64_t> index_of(const Sequence& sequence, const Json& config);
  static std::optional<std::uint64_t> index_of(const Axis& axis, const Json& config);

  Sequence root_;
};

}  // namespace tune::core
