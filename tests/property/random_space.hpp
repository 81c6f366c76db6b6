#pragma once

#include <string>

#include <tune/json.hpp>
#include <tune/random.hpp>
#include <tune/search_space.hpp>

namespace tune::test {

struct RandomSpaceOptions {
  bool countable = false;  ///< No domain with uncountably many values.
  bool grid_axes = true;   ///< grid_search among the domains.
  bool functions = true;   ///< sample_from among the parameters, without chance.
};

/// A space of a few parameters of all kinds, nested and conditional ones among them.
[[nodiscard]] SearchSpace random_space(Random& random, const RandomSpaceOptions& options);

/// What is wrong with `config` as a configuration of `space`, found by walking the space's braces:
/// a value of another type, outside its bounds or between two steps, a parameter that is missing or
/// too many. Empty if it is right.
[[nodiscard]] std::string configuration_fault(const SearchSpace& space, const Json& config);

}  // namespace tune::test
