#pragma once

#include <tune/json.hpp>

namespace tune::schedulers {

/// A number for a saved state; what is not finite as text, since JSON has no number for it.
[[nodiscard]] Json saved_number(double value);
/// The number that saved_number() was given. @throws std::invalid_argument naming anything else.
[[nodiscard]] double restored_number(const Json& json);

}  // namespace tune::schedulers
