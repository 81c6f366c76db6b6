#pragma once

#include <memory>

#include <tune/searcher.hpp>

namespace tune {

/// Makes grid search over the whole space: every configuration once in each of num_samples passes,
/// in lexicographic order with the last parameter fastest, conditional ones only where they are
/// active. Points to evaluate take the place of their configurations.
///
/// To enumerate some parameters and draw the others, use grid_search() domains with another
/// searcher. @throws std::invalid_argument at setup naming a parameter with uncountably many
/// values.
[[nodiscard]] std::unique_ptr<Searcher> grid();

}  // namespace tune
