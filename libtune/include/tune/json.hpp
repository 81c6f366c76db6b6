#pragma once

#include <nlohmann/json.hpp>

namespace tune {

/// The JSON type of every public surface: configurations, options, saved states.
using Json = nlohmann::json;

}  // namespace tune
