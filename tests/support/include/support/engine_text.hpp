#pragma once

#include <string>

#include <tune/resources.hpp>

#include "engine/commands.hpp"
#include "engine/events.hpp"

namespace tune::test {

/// One line with every field, for traces and to compare two histories: doubles are exact.
[[nodiscard]] std::string describe(const engine::Event& event);
[[nodiscard]] std::string describe(const engine::Command& command);
[[nodiscard]] std::string describe(const engine::Horizon& horizon);
/// The shortest text that reads back as the same double.
[[nodiscard]] std::string describe(double value);

}  // namespace tune::test
