#pragma once

#include <optional>
#include <vector>

#include <Eigen/Core>

#include "searchers/matern_kernel.hpp"

namespace tune::searchers {

/// The parameters of a Gaussian process and of the warp of its losses.
struct GpParameters {
  MaternParameters kernel;
  double log_softness = 0;  ///< Of LossWarp.

  /// Where the search for parameters starts: the medians of the lengths, little noise.
  [[nodiscard]] static GpParameters prior(const MaternKernel& kernel, double active_dimensions,
                                          std::optional<double> fixed_noise);
};

/// What is to be explained: rows of `x`, and losses as LossScale gives them.
struct GpData {
  Eigen::MatrixXd x;
  Eigen::VectorXd scaled;
  double active_dimensions = 1;  ///< Of a point: less than all in a conditional space.
};

/// Minus the log of the posterior density of parameters, up to a constant, and its gradient.
class GpPosterior {
 public:
  /// Both must outlive this. `fixed_noise`: a variance; empty: fitted too.
  GpPosterior(const MaternKernel& kernel, const GpData& data, std::optional<double> fixed_noise);

  /// log lengths, log variance, log noise, log softness.
  [[nodiscard]] double operator()(const Eigen::VectorXd& theta, Eigen::VectorXd& gradient) const;
  [[nodiscard]] Eigen::VectorXd lower() const;
  [[nodiscard]] Eigen::VectorXd upper() const;

  [[nodiscard]] static Eigen::VectorXd packed(const GpParameters& parameters);
  [[nodiscard]] static GpParameters unpacked(const Eigen::VectorXd& theta);

 private:
  double add_priors(const Eigen::VectorXd& theta, Eigen::VectorXd& gradient) const;
  double warp_terms(double log_softness, const Eigen::VectorXd& alpha, double& slope) const;

  const MaternKernel* kernel_;
  const GpData* data_;
  std::optional<double> fixed_noise_;
  Eigen::VectorXd median_log_lengths_;
};

/// The most probable parameters given `data`, found by L-BFGS from each of `starts`.
[[nodiscard]] GpParameters fit_gp(const MaternKernel& kernel, const GpData& data,
                                  std::optional<double> fixed_noise,
                                  const std::vector<GpParameters>& starts, int most_evaluations);

}  // namespace tune::searchers
