#pragma once

#include <string>

#include <tune/json.hpp>

namespace tune::core {

/// A number of a saved state; what is not finite as text, since JSON has no number for it.
[[nodiscard]] Json saved_number(double value);
/// The inverse. @throws std::invalid_argument naming whose state it is and what stands there.
[[nodiscard]] double restored_number(const Json& json, const std::string& owner);

}  // namespace tune::core
