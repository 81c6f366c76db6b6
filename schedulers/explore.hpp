#pragma once

#include <array>

#include <tune/domain.hpp>
#include <tune/json.hpp>
#include <tune/random.hpp>

namespace tune::schedulers {

/// How PBT makes a new value out of that of a donor.
struct Exploration {
  double resample_probability = 0.25;
  std::array<double, 2> factors = {1.2, 0.8};
};

/// True if a value of this domain can be explored: not for branch, space, sample_from, constant.
[[nodiscard]] bool is_explorable(const Domain& domain);

/// A new value: drawn from the domain with the probability for that, else `value` perturbed.
///
/// Numbers are multiplied by one of the factors, which moves a logarithmic domain by an equal step
/// in its logarithm, then brought into the domain and to its grid; on a grid they move by at least
/// one step where the bounds let them. Ordinals go to a neighbour, at an end they may stay; choices
/// are drawn. What is no value of the kind (an option that is not in the list, text for a number)
/// is drawn anew.
[[nodiscard]] Json explored_value(const Domain& domain, const Json& value,
                                  const Exploration& exploration, Random& random);

}  // namespace tune::schedulers
