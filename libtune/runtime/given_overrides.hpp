#pragma once

#include <vector>

#include "runtime/command_line.hpp"

namespace tune::runtime {

/// What the command line that tune::init() was given overrides in each experiment.
[[nodiscard]] const std::vector<Override>& given_overrides();

}  // namespace tune::runtime
