#pragma once

#include <vector>

#include <Eigen/Core>

#include "cma_population.hpp"
#include "cma_start.hpp"
#include "searchers/cma_distribution.hpp"
#include "searchers/encoded_space.hpp"
#include "searchers/rank_model.hpp"

namespace tune::searchers {

/// Of the trials nearest to the mean of `distribution`: 60, or 5 for each parameter up to 100.
/// @pre there are members
[[nodiscard]] RankModel model_of(const CmaParameters& parameters,
                                 const CmaDistribution& distribution,
                                 const std::vector<CmaMember>& members);

/// `point` as that model takes it: coordinates in which the distribution is a standard normal one,
/// and an axis for each option. What is not active is where the mean is.
[[nodiscard]] Eigen::VectorXd model_place(const CmaParameters& parameters,
                                          const CmaDistribution& distribution, const Point& point);

}  // namespace tune::searchers
