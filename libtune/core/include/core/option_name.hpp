#pragma once

#include <string>

#include <tune/json.hpp>

namespace tune::core {

/// The name in what `options()` of a user's scheduler or searcher gave, which may be anything;
/// `otherwise` if there is no text of that name.
[[nodiscard]] std::string option_name(const Json& options, const std::string& otherwise);

}  // namespace tune::core
