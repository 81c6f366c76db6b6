#pragma once

#include <string>

#include <tune/domain.hpp>
#include <tune/json.hpp>
#include <tune/search_space.hpp>

namespace tune::core {

/// The domain that Domain::json() wrote, but for branch, sample_from and space. An array is an
/// ordinal of its elements, as Ray Tune has it.
/// @throws std::invalid_argument naming `owner` and what is wrong with the form. What is wrong with
/// the domain itself is said when it enters a SearchSpace.
[[nodiscard]] Domain domain_from_json(const std::string& owner, const Json& json);

/// A space from an object of names and domains, or from what SearchSpace::json() wrote.
/// @throws std::invalid_argument naming `owner` and the parameter
[[nodiscard]] SearchSpace space_from_json(const std::string& owner, const Json& json);

/// The whole space that SearchSpace::json() wrote, nested ones and branches included.
/// @throws std::invalid_argument naming the parameter whose function (`sample_from`) is not on
/// record, or what is wrong with the form.
[[nodiscard]] SearchSpace recorded_space(const Json& json);

}  // namespace tune::core
