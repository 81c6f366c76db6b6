#pragma once

#include <tune/json.hpp>

#include "runtime/guardian.hpp"

// The guardian's side of its protocol.
namespace tune::runtime {

/// @throws std::exception for what is none.
[[nodiscard]] GuardianRequest guardian_request_from_json(const Json& json);
[[nodiscard]] Json to_json(const GuardianReport& report);

}  // namespace tune::runtime
