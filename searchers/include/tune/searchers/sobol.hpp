#pragma once

#include <memory>

#include <tune/searcher.hpp>

namespace tune {

/// Makes a searcher that tries the points of a scrambled Sobol sequence: they fill the space more
/// evenly than random draws, each parameter and each small group of parameters.
///
/// Sobol, "On the distribution of points in a cube", 1967, with the direction numbers that Boost
/// has (Bratley and Fox, TOMS 14, 1988; Joe and Kuo beyond), scrambled after Owen, "Randomly
/// permuted (t,m,s)-nets and (t,s)-sequences", 1995: each bit is flipped or not by a draw keyed by
/// the seed, the parameter's path and all bits before it. So every point by itself is uniform, and
/// the first 2^k keep one point in each of 2^k equal slices of a parameter.
///
/// Trial i has point i. Under a grid each of its cells has the whole sequence for itself. Every
/// parameter has a coordinate of its own, also those of branches that are not taken; integers,
/// options and quantised domains have the value at that quantile. Asked again, because a
/// configuration was tried before, or where a constraint refuses the point, it draws at random.
/// Parameters beyond the first 3667, for which there are no direction numbers, are drawn at random.
///
/// Needs no metric and learns nothing of results: failed, stopped and running trials are all the
/// same to it. O(parameters) a suggestion.
[[nodiscard]] std::unique_ptr<Searcher> sobol();

}  // namespace tune
