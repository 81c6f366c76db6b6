#include "searchers/gp_fit.hpp"

#include <cmath>
#include <limits>

#include <Eigen/Cholesky>

#include "searchers/box_minimizer.hpp"
#include "searchers/loss_warp.hpp"

namespace tune::searchers {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

// Log-normal lengths. The median of numeric ones grows as the diagonal of the cube (Hvarfner et
// al., 2024), from a shorter one: what was not tried yet shall not be thought flat.
constexpr double length_deviation = 1;
constexpr double numeric_median = 0.5;
constexpr double categorical_median = 1;

constexpr double variance_shape = 2;  // gamma, as Optuna's
constexpr double variance_rate = 1;
constexpr double noise_shape = 1.1;
constexpr double noise_rate = 30;
constexpr double softness_deviation = 2;
constexpr double least_noise = 1e-6;

struct Box {
  double low;
  double high;
};
constexpr Box length_box = {-4.6, 6.9};  // 0.01 to 1000
constexpr Box variance_box = {-4.6, 4.6};
constexpr Box softness_box = {-11.5, 6.9};

Box noise_box(std::optional<double> fixed) {
  if (!fixed) return {std::log(least_noise), 0};
  const double log_noise = std::log(std::max(*fixed, least_noise));
  return {log_noise, log_noise};
}

}  // namespace

GpParameters GpParameters::prior(const MaternKernel& kernel, double active_dimensions,
                                 std::optional<double> fixed_noise) {
  GpParameters parameters;
  Vector& log_lengths = parameters.kernel.log_lengths;
  log_lengths = Vector::Zero(kernel.dimensions());
  for (Eigen::Index d = 0; d < kernel.dimensions(); ++d) {
    log_lengths[d] = kernel.is_categorical(d)
                         ? std::log(categorical_median)
                         : std::log(numeric_median) + 0.5 * std::log(active_dimensions);
  }
  parameters.kernel.log_variance = 0;
  parameters.kernel.log_noise = std::log(std::max(fixed_noise.value_or(1e-3), least_noise));
  return parameters;
}

GpPosterior::GpPosterior(const MaternKernel& kernel, const GpData& data,
                         std::optional<double> fixed_noise)
    : kernel_(&kernel),
      data_(&data),
      fixed_noise_(fixed_noise),
      median_log_lengths_(
          GpParameters::prior(kernel, data.active_dimensions, fixed_noise).kernel.log_lengths) {}

Vector GpPosterior::packed(const GpParameters& parameters) {
  const Eigen::Index d = parameters.kernel.log_lengths.size();
  Vector theta(d + 3);
  theta << parameters.kernel.log_lengths, parameters.kernel.log_variance,
      parameters.kernel.log_noise, parameters.log_softness;
  return theta;
}

GpParameters GpPosterior::unpacked(const Vector& theta) {
  const Eigen::Index d = theta.size() - 3;
  return {
      .kernel = {.log_lengths = theta.head(d), .log_variance = theta[d], .log_noise = theta[d + 1]},
      .log_softness = theta[d + 2]};
}

Vector GpPosterior::lower() const {
  const Eigen::Index d = kernel_->dimensions();
  Vector bounds(d + 3);
  bounds << Vector::Constant(d, length_box.low), variance_box.low, noise_box(fixed_noise_).low,
      softness_box.low;
  return bounds;
}

Vector GpPosterior::upper() const {
  const Eigen::Index d = kernel_->dimensions();
  Vector bounds(d + 3);
  bounds << Vector::Constant(d, length_box.high), variance_box.high, noise_box(fixed_noise_).high,
      softness_box.high;
  return bounds;
}

double GpPosterior::add_priors(const Vector& theta, Vector& gradient) const {
  const Eigen::Index d = kernel_->dimensions();
  double value = 0;
  for (Eigen::Index i = 0; i < d; ++i) {
    const double away = (theta[i] - median_log_lengths_[i]) / length_deviation;
    value += 0.5 * away * away;
    gradient[i] += away / length_deviation;
  }
  const auto add_gamma = [&](Eigen::Index i, double shape, double rate) {
    value -= (shape - 1) * theta[i] - rate * std::exp(theta[i]);
    gradient[i] -= (shape - 1) - rate * std::exp(theta[i]);
  };
  add_gamma(d, variance_shape, variance_rate);
  if (!fixed_noise_) add_gamma(d + 1, noise_shape, noise_rate);
  const double away = theta[d + 2] / softness_deviation;
  value += 0.5 * away * away;
  gradient[d + 2] += away / softness_deviation;
  return value;
}

// The log Jacobian, and the derivative of the whole log likelihood by the softness: the kernel does
// not depend on it, so differences of values that cost O(n) do.
double GpPosterior::warp_terms(double log_softness, const Vector& alpha, double& slope) const {
  constexpr double step = 1e-4;
  const LossWarp below(log_softness - step, data_->scaled);
  const LossWarp above(log_softness + step, data_->scaled);
  const Vector change = (above(data_->scaled) - below(data_->scaled)) / (2 * step);
  slope = -alpha.dot(change) + (above.log_jacobian() - below.log_jacobian()) / (2 * step);
  return 0.5 * (above.log_jacobian() + below.log_jacobian());
}

double GpPosterior::operator()(const Vector& theta, Vector& gradient) const {
  const Eigen::Index n = data_->x.rows();
  const Eigen::Index d = kernel_->dimensions();
  const GpParameters parameters = unpacked(theta);
  gradient = Vector::Zero(theta.size());

  Matrix covariance(n, n);
  Matrix slopes(n, n);
  for (Eigen::Index j = 0; j < n; ++j) {
    const Eigen::ArrayXd squares =
        kernel_->squared_distances(parameters.kernel, data_->x.bottomRows(n - j), data_->x.row(j));
    const Eigen::ArrayXd s = (5 * squares).sqrt();
    const Eigen::ArrayXd decayed = parameters.kernel.variance() * (-s).exp();
    covariance.col(j).tail(n - j) = decayed * (1 + s + s.square() / 3);
    slopes.col(j).tail(n - j) = decayed * (1 + s);
  }
  Matrix regular = covariance;
  regular.array() += MaternKernel::mean_variance;
  regular.diagonal().array() += parameters.kernel.noise();
  const Eigen::LLT<Matrix> factor(regular);
  if (factor.info() != Eigen::Success) return std::numeric_limits<double>::infinity();

  const LossWarp warp(parameters.log_softness, data_->scaled);
  const Vector y = warp(data_->scaled);
  const Vector alpha = factor.solve(y);
  double softness_slope = 0;
  const double log_jacobian = warp_terms(parameters.log_softness, alpha, softness_slope);
  const double value =
      0.5 * y.dot(alpha) + factor.matrixLLT().diagonal().array().log().sum() - log_jacobian;

  // d(value) = 1/2 tr(outer dK). Weights of the pairs below the diagonal count twice.
  Matrix outer = factor.solve(Matrix::Identity(n, n));
  outer.noalias() -= alpha * alpha.transpose();
  gradient[d + 1] = 0.5 * parameters.kernel.noise() * outer.trace();
  gradient[d + 2] = -softness_slope;
  double variance_slope = 0;
  for (Eigen::Index j = 0; j < n; ++j) {
    const Eigen::Index rest = n - j - 1;
    variance_slope += 0.5 * outer(j, j) * covariance(j, j);
    if (rest == 0) continue;
    const auto pairs = outer.col(j).tail(rest).array();
    variance_slope += (pairs * covariance.col(j).tail(rest).array()).sum();
    // dk / d log length = 5/3 variance (1 + s) exp(-s) times this dimension's part of the square.
    const Eigen::ArrayXd weights = 5.0 / 3 * pairs * slopes.col(j).tail(rest).array();
    for (Eigen::Index i = 0; i < d; ++i) {
      const auto other = data_->x.col(i).tail(rest).array();
      const double here = data_->x(j, i);
      gradient[i] += kernel_->is_categorical(i) ? (other != here).select(weights, 0.0).sum()
                                                : (weights * (other - here).square()).sum();
    }
  }
  for (Eigen::Index i = 0; i < d; ++i) gradient[i] *= std::exp(-2 * theta[i]);
  gradient[d] = variance_slope;
  return value + add_priors(theta, gradient);
}

GpParameters fit_gp(const MaternKernel& kernel, const GpData& data,
                    std::optional<double> fixed_noise, const std::vector<GpParameters>& starts,
                    int most_evaluations) {
  const GpPosterior posterior(kernel, data, fixed_noise);
  BoxMinimum best{.x = GpPosterior::packed(starts.front()),
                  .value = std::numeric_limits<double>::infinity()};
  for (const GpParameters& start : starts) {
    BoxMinimum found = minimize_in_box(posterior, GpPosterior::packed(start), posterior.lower(),
                                       posterior.upper(), most_evaluations);
    if (found.value < best.value) best = std::move(found);
  }
  return GpPosterior::unpacked(best.x);
}

}  // namespace tune::searchers
