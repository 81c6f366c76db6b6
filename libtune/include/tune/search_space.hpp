#pragma once

#include <cstdint>
#include <functional>
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
  /// domain, an empty or reserved name, a name twice on one path, flattened names that collide.
  SearchSpace(std::initializer_list<SpaceEntry> entries);
  /// @throws std::invalid_argument as the constructor.
  void add(std::string name, Domain domain);

  /// True if a configuration may be tried. It is given every active parameter that is drawn,
  /// enumerated or constant, and none that a function computes.
  using Constraint = std::function<bool(const Config& config)>;
  /// Keeps to configurations that `allows` returns true for: every searcher draws among these
  /// alone, and a point of the user that is not among them is refused. `name` stands for the
  /// constraint in messages and in the recorded definition.
  ///
  /// Of the outermost space alone; called in the order of adding, always with the same answer for
  /// the same configuration. @throws std::invalid_argument if the name is empty or taken, or
  /// `allows` is.
  void require(std::string name, Constraint allows);
  /// True if all constraints allow `config`, which needs to hold no constants.
  /// @throws std::runtime_error naming the constraint and the configuration if one throws.
  [[nodiscard]] bool is_allowed(const Json& config) const;
  /// The names of the constraints, in order.
  [[nodiscard]] std::vector<std::string> constraints() const;

  [[nodiscard]] const std::vector<SpaceEntry>& entries() const { return entries_; }
  [[nodiscard]] bool empty() const { return entries_.empty(); }

  /// One parameter of the flattened space.
  struct Parameter {
    std::string path;  ///< Names joined by '/': its one name in files and messages.
    /// Where it stands in the configuration, a name a level. Names may themselves hold '/'.
    std::vector<std::string> names;
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

  /// Refuses a point of the user that cannot be in this space. It may leave parameters out, and
  /// name a nested one as `{"a": {"b": 1}}` or `{"a/b": 1}`.
  /// @throws std::invalid_argument naming the parameter, its value and what is allowed.
  void check_point(const Json& point) const;
  /// How many configurations there are, each combination of grid axes once; empty if not finite
  /// or 2^64 and more.
  [[nodiscard]] std::optional<std::uint64_t> count() const;
  /// The recorded definition.
  [[nodiscard]] Json json() const;

 private:
  friend class Domain;
  // Inside a Domain: checked with what it stands in, whose names belong into the message.
  static SearchSpace unchecked(std::vector<SpaceEntry> entries);
  void note_constants();

  struct NamedConstraint {
    std::string name;
    Constraint allows;
  };

  std::vector<SpaceEntry> entries_;
  std::vector<NamedConstraint> constraints_;
  std::vector<Parameter> constants_;  // for constraints; empty if there are none
};

struct Domain::Branch {
  Branch(Json key, SearchSpace space) : key(std::move(key)), space(std::move(space)) {}
  Branch(Json key, std::initializer_list<SpaceEntry> entries)
      : key(std::move(key)), space(SearchSpace::unchecked(entries)) {}

  Json key;
  SearchSpace space;
};

/// The value at `path` ("a/b"); null pointer if absent. Names may themselves hold '/'.
[[nodiscard]] const Json* find_path(const Json& config, std::string_view path);
/// The value below these names, one a level; null pointer if absent.
[[nodiscard]] const Json* find_path(const Json& config, const std::vector<std::string>& names);
/// Puts `value` below these names, making the objects in between.
void set_path(Json& config, const std::vector<std::string>& names, Json value);

}  // namespace tune
