#pragma once

namespace tune::searchers {

/// log h(z) and its derivative, h(z) = phi(z) + z Phi(z): the expected improvement on a normal
/// distribution of standard deviation 1 whose mean lies z below the best.
struct LogImprovement {
  double value = 0;
  double slope = 0;
};

/// Exact to 1e-10 relative for every finite z, where h itself is 0 in double precision too.
///
/// Ament et al., "Unexpected Improvements to Expected Improvement for Bayesian Optimization",
/// NeurIPS 2023, section 4.1. Departure: below -1.5 it takes Mills' ratio from its continued
/// fraction, in which nothing cancels, rather than from erfcx.
[[nodiscard]] LogImprovement log_improvement(double z);

}  // namespace tune::searchers
