#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <tune/searcher.hpp>

namespace tune {

struct GpOptions {
  /// Trials with a loss before the model is used; until then the middle of the space, then points
  /// spread over it. At least 1.
  std::int64_t startup_trials = 8;
  /// How much one configuration's loss scatters: the variance of that, as a share of the variance
  /// of all warped losses, in [0, 1]. 0: the objective is deterministic. Default: fitted.
  std::optional<double> noise = {};
  /// The model is fitted to at most so many trials, the best half and the newest half, and grows by
  /// a twentieth before the next fit. At least 10.
  std::int64_t max_observations = 1000;
};

/// Makes Bayesian optimisation with a Gaussian process: for few, dear trials.
///
/// Kernel: Matern 5/2 with a length for each parameter, with a log-normal prior whose
/// median grows as the root of the number of parameters (Hvarfner et al., "Vanilla Bayesian
/// Optimization Performs Great in High Dimensions", ICML 2024, section 4); options
/// of a choice are equally far from each other (Hamming), integers and grids are taken at the
/// values they have, a parameter that is not active stands in its middle and is told apart by its
/// branch key. Lengths, variance, noise and the warp of the losses are those of largest posterior
/// density (L-BFGS, several starts). Acquisition: log expected improvement, Ament et al., NeurIPS
/// 2023, section 4.1, over the best predicted mean of what was tried.
///
/// Departures: the median is 0.5 sqrt(d) with a deviation of 1 in the logarithm, not 4.1 sqrt(d)
/// and 1.7, since searches that think untried parameters flat stay where they began; losses are
/// warped by log(1 + distance from the best / s), with s fitted together with the kernel, so that
/// objectives over many orders of magnitude are no trouble. Running trials count as if they had the
/// value predicted for them (kriging believer, Ginsbourger et al., 2010), and the neighbourhood of
/// each is avoided. Where there are choices or branches, each fourth point improves on the best
/// with an option that was tried little, not on the best of all.
///
/// Failed and infeasible trials and values that are not finite count as the worst finite loss. One
/// that the scheduler stopped before others ended counts with its last loss, but as no better than
/// the median of those that trained longest. A trial that ended without a result counts nowhere.
///
/// The model is fitted anew when the trials have grown by a twentieth, from 256 of them at most; in
/// between each result adds a row to the factor, O(n^2). Memory O(max_observations^2).
/// @throws std::invalid_argument naming an option out of range.
[[nodiscard]] std::unique_ptr<Searcher> gp(const GpOptions& options = {});

}  // namespace tune
