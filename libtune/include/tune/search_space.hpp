#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tune/config.hpp>
#include <tune/domain.hpp>
#include <tune/json.hpp>

namespace tune {

struct SpaceEntry {
  SpaceEntry(std::string name, Domain domain) : name(std::move(name)), domain(std::move(domain)) {}

  std::string name;
  Domain domain;
};

/// The parameters of an experiment and their domains; nested, with conditional branches.
class SearchSpace {
 public:
  SearchSpace() = default;
  /// @throws std::invalid_argument naming the parameter and what is wrong with it: an impossible
  /// domain, an empty name, a name twice on one path, flattened names that collide.
  SearchSpace(std::initializer_list<SpaceEntry> entries);
  /// @throws std::invalid_argument as the constructor.
  void add(std::string name, Domain domain);

  [[nodiscard]] const std::vector<SpaceEntry>& entries() const { return entries_; }
  [[nodiscard]] bool empty() const { return entries_.empty(); }

  /// One parameter of the flattened space.
  struct Parameter {
    std::string path;  ///< Names joined by '/': where it stands in the configuration.
    Domain domain;
    /// The branch keys that must hold for it to exist: (path of the branch, its key).
    std::vector<std::pair<std::string, Json>> conditions;
  };
  /// All parameters, constants and functions included, in order; branches before what they hold.
  /// Branch parameters stand beside their key: branch "opt" with "momentum" gives paths "opt" and
  /// "momentum". Two branches may both have "lr"; then both are listed, with their conditions.
  [[nodiscard]] std::vector<Parameter> parameters() const;
  /// True if `parameter`'s conditions hold in `config`.
  [[nodiscard]] static bool is_active(const Parameter& parameter, const Json& config);

  /// Refuses a point of the user that cannot be in this space.
  /// @throws std::invalid_argument naming the parameter, its value and what is allowed.
  void check_point(const Json& point) const;
  /// How many configurations there are without grid axes' repeats; empty if not finite.
  [[nodiscard]] std::optional<std::uint64_t> count() const;
  /// The recorded definition.
  [[nodiscard]] Json json() const;

 private:
  std::vector<SpaceEntry> entries_;
};

struct Domain::Branch {
  Json key;
  SearchSpace space;
};

/// The value at `path` ("a/b"); null pointer if absent. Names may themselves hold '/'.
[[nodiscard]] const Json* find_path(const Json& config, std::string_view path);
/// Puts `value` at `path`, making the objects in between.
void set_path(Json& config, std::string_view path, Json value);

}  // namespace tune
