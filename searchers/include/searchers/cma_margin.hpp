#pragma once

#include <cstddef>

#include <tune/domain.hpp>

#include "searchers/cma_distribution.hpp"

namespace tune::searchers {

/// Moves mean and deviation of coordinate `d` so that draws leave the mean's value, whose quantiles
/// are `cell`, with a probability of at least `margin` (Hamano et al., "CMA-ES with Margin:
/// Lower-Bounding Marginal Probability for Mixed-Integer Black-Box Optimization", GECCO 2022,
/// section 4: equation 9 at the first and last value, 10 to 17 between).
/// @pre `0 < margin < 0.5`
void keep_margin(CmaDistribution& distribution, std::size_t d, const UnitInterval& cell,
                 double margin);

}  // namespace tune::searchers
