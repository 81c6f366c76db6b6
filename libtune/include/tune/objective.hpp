#pragma once

#include <string>

#include <tune/mode.hpp>

namespace tune {

/// The metric that somebody optimises, and its direction.
struct Objective {
  std::string metric;
  Mode mode = Mode::min;
};

}  // namespace tune
