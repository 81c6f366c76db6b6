#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <tune/json.hpp>
#include <tune/search_space.hpp>

namespace tune::core {

/// Refuses a space whose domains or names cannot work.
/// @throws std::invalid_argument naming the parameter by its path, what is wrong and what is
/// allowed.
void check_space(const SearchSpace& space);

/// The one name of a parameter in files and messages: names joined by '/'.
[[nodiscard]] std::string join_names(const std::vector<std::string>& names);

/// The path of the first value in `object` that none of `paths` names; empty if there is none. An
/// object at one of the paths is that parameter's value.
[[nodiscard]] std::string find_unknown(const Json& object, const std::set<std::string>& paths);

/// True if one of `paths` lies below `path`.
[[nodiscard]] bool leads_below(const std::set<std::string>& paths, const std::string& path);

/// The first ten, for messages; "no parameters" if there are none.
[[nodiscard]] std::string names_text(const std::set<std::string>& names);

/// What makes a value one that JSON, and so the record of the experiment, cannot hold; empty if
/// nothing does.
[[nodiscard]] std::string value_fault(const Json& value);
/// "low is nan, must be finite"; empty if it is.
[[nodiscard]] std::string must_be_finite(std::string_view name, double value);

/// A value with its type, for messages where the type may be what is wrong: `5 (a double)`.
[[nodiscard]] std::string typed_text(const Json& value);

}  // namespace tune::core
