#pragma once

#include <functional>

#include <Eigen/Core>

namespace tune::searchers {

/// A smooth function: returns the value at `x` and puts the gradient, of the size of `x`, into
/// `gradient`. Where it has no finite value the search turns back.
using SmoothFunction = std::function<double(const Eigen::VectorXd& x, Eigen::VectorXd& gradient)>;

struct BoxMinimum {
  Eigen::VectorXd x;
  double value = 0;
};

/// Goes down from `start` inside [lower, upper] until the projected gradient or the gain vanishes,
/// or for `most_evaluations`. Never worse than `start` brought into the box.
///
/// L-BFGS (Nocedal and Wright, "Numerical Optimization", 2006, algorithm 7.4, the last 8 pairs) on
/// the variables that are not held at a bound, with backtracking along the projected path
/// (Bertsekas, "Projected Newton methods", 1982). Simpler than L-BFGS-B: no Cauchy point, so the
/// bounds held may change a few at a time. Draws nothing by chance.
[[nodiscard]] BoxMinimum minimize_in_box(const SmoothFunction& function,
                                         const Eigen::VectorXd& start, const Eigen::VectorXd& lower,
                                         const Eigen::VectorXd& upper, int most_evaluations);

}  // namespace tune::searchers
