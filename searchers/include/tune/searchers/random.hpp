#pragma once

#include <memory>

#include <tune/searcher.hpp>

namespace tune {

/// Makes random search: every parameter drawn from its domain on its own.
///
/// Each draw is keyed by (seed, trial, parameter), so trial i has the same configuration whatever
/// the number of slots, and a further parameter does not change the others. Bergstra and Bengio,
/// "Random Search for Hyper-Parameter Optimization", JMLR 2012. Supports every domain.
[[nodiscard]] std::unique_ptr<Searcher> random_search();

}  // namespace tune
