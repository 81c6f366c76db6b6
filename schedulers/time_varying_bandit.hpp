#pragma once

#include <cstddef>
#include <vector>

#include <tune/random.hpp>

namespace tune::schedulers {

/// Where something was, or is being, tried: parameters scaled to [0, 1], and when, in intervals.
struct BanditPoint {
  std::vector<double> x;
  double time = 0;
};

struct BanditObservation {
  BanditPoint at;
  double gain = 0;  ///< How much the score improved there; large is good.
};

/// The point of the unit cube to try at `time`, by a time-varying Gaussian process bandit
/// (Parker-Holder et al., "Provably Efficient Online Hyperparameter Optimization with
/// Population-Based Bandits", NeurIPS 2020, section 4).
///
/// The kernel is exp(-|x - x'|^2 / (2 l^2)) (1 - epsilon)^(|t - t'| / 2), on gains scaled to mean 0
/// and variance 1. The length l, epsilon and the noise are those of a small grid with the greatest
/// marginal likelihood over the newest observations. The point maximises mean + sqrt(beta) sigma;
/// sigma knows of `pending` points too, where the gain is not known yet, so that a population tries
/// different ones. With fewer than two observations it is drawn.
///
/// Cubic in the number of observations, of which at most the newest `most_observations` are used.
[[nodiscard]] std::vector<double> choose_point(const std::vector<BanditObservation>& observations,
                                               const std::vector<BanditPoint>& pending, double time,
                                               std::size_t dimensions, Random& random);

inline constexpr std::size_t most_observations = 250;
inline constexpr std::size_t most_pending = 100;

}  // namespace tune::schedulers
