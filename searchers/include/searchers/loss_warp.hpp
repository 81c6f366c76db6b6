#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include <tune/json.hpp>

namespace tune::searchers {

/// Brings losses of any size to values that a Gaussian process can model: 0 for the best loss, the
/// unit the distance from it to the median of all or, if that is more, of the first 20: when most
/// trials crowd around the best, the others shall not all look alike. What is not finite counts as
/// the worst finite one, and what is 100 units away or more as 100 units.
class LossScale {
 public:
  LossScale() = default;
  /// `losses` in the order of the trials. @pre at least one is finite
  explicit LossScale(std::span<const double> losses);

  [[nodiscard]] double operator()(double loss) const;

  [[nodiscard]] Json save() const;
  void restore(const Json& state);

 private:
  double best_ = 0;
  double unit_ = 1;
  double worst_ = 0;  // in units
};

/// t(u) = sign(u) log(1 + |u| / s), standardised over the values it was made from: nearly linear
/// for a large softness s, logarithmic for a small one.
class LossWarp {
 public:
  LossWarp() = default;
  LossWarp(double log_softness, const Eigen::VectorXd& scaled);

  [[nodiscard]] double operator()(double scaled) const;
  [[nodiscard]] Eigen::VectorXd operator()(const Eigen::VectorXd& scaled) const;
  /// The sum of log t' over the values it was made from: what a likelihood of warped values lacks
  /// to be one of the values.
  [[nodiscard]] double log_jacobian() const { return log_jacobian_; }

  [[nodiscard]] Json save() const;
  void restore(const Json& state);

 private:
  double softness_ = 1;
  double mean_ = 0;
  double deviation_ = 1;
  double log_jacobian_ = 0;
};

}  // namespace tune::searchers
