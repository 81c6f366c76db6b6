#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tune/json.hpp>

namespace tune::report {

/// A configuration as flat pairs: names on the way joined by '/'. An empty object is a value.
[[nodiscard]] std::vector<std::pair<std::string, const Json*>> flat_parameters(const Json& config);

/// An object without the strings and arrays in it of which the JSON has 4096 bytes or more, and
/// without the objects that had nothing else. Rows that repeat the configuration have no room for
/// them; params.json has them.
[[nodiscard]] Json without_large_parameters(const Json& config);

}  // namespace tune::report
