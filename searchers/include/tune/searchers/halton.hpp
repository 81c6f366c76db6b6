#pragma once

#include <memory>

#include <tune/searcher.hpp>

namespace tune {

/// Makes a searcher that tries the points of a scrambled Halton sequence.
///
/// Halton, "On the efficiency of certain quasi-random sequences of points in evaluating
/// multi-dimensional integrals", 1960: coordinate d of point i is i in base p(d), the d-th prime,
/// mirrored at the point. Scrambled digit by digit, nested as in Owen (1995), by a random linear
/// map modulo the prime (Matousek, "On the L2-discrepancy for anchored boxes", 1998): its factor is
/// keyed by the seed, the parameter's path and the digit's place, what it adds also by all digits
/// before. So every point by itself is uniform.
///
/// There is no highest number of parameters, but a parameter is spread evenly only by as many
/// trials as its prime: 2, 3, 5, ..., 29 for the tenth, 541 for the hundredth. In all else as
/// sobol(), which is the better choice above some ten parameters.
[[nodiscard]] std::unique_ptr<Searcher> halton();

}  // namespace tune
