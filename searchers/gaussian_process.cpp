#include "searchers/gaussian_process.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>

namespace tune::searchers {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using Index = Eigen::Index;

// Relative to the variance: below, rounding decides.
constexpr double least_pivot = 1e-9;
// Rows are reserved in steps of this, even, so that every column starts aligned: Eigen's sums then
// have the same order whenever the factor is made again.
constexpr Index step_of_rows = 64;

}  // namespace

bool GaussianProcess::set(MaternParameters parameters, const Matrix& x, const Vector& y) {
  parameters_ = std::move(parameters);
  size_ = 0;
  reserve(x.rows());
  Matrix covariance(x.rows(), x.rows());
  for (Index j = 0; j < x.rows(); ++j) {
    const Index rest = x.rows() - j;
    covariance.col(j).tail(rest) = MaternKernel::covariances(
        parameters_, kernel_.squared_distances(parameters_, x.bottomRows(rest), x.row(j)));
  }
  while (true) {
    Matrix regular = covariance;
    regular.diagonal().array() += parameters_.noise();
    const Eigen::LLT<Matrix> factor(regular);
    if (factor.info() == Eigen::Success) {
      factor_.topLeftCorner(x.rows(), x.rows()) = factor.matrixLLT();
      break;
    }
    parameters_.log_noise += std::log(10.0);
    if (!(parameters_.log_noise <= 0)) return false;
  }
  size_ = x.rows();
  x_.topRows(size_) = x;
  y_.head(size_) = y;
  reduced_.head(size_) =
      factor_.topLeftCorner(size_, size_).triangularView<Eigen::Lower>().solve(y);
  return true;
}

void GaussianProcess::reserve(Index size) {
  if (size <= factor_.rows()) return;
  const Index rows = (size + size / 4 + step_of_rows) / step_of_rows * step_of_rows;
  x_.conservativeResize(rows, dimensions());
  factor_.conservativeResize(rows, rows);
  y_.conservativeResize(rows);
  reduced_.conservativeResize(rows);
}

double GaussianProcess::append_row(const Eigen::RowVectorXd& point) {
  reserve(size_ + 1);
  const Index n = size_;
  Vector row = MaternKernel::covariances(
                   parameters_, kernel_.squared_distances(parameters_, x_.topRows(n), point))
                   .matrix();
  factor_.topLeftCorner(n, n).triangularView<Eigen::Lower>().solveInPlace(row);
  const double variance = parameters_.variance() + MaternKernel::mean_variance;
  const double pivot = variance + parameters_.noise() - row.squaredNorm();
  factor_.row(n).head(n) = row.transpose();
  factor_(n, n) = std::sqrt(std::max(pivot, least_pivot * variance));
  x_.row(n) = point;
  ++size_;
  return row.dot(reduced_.head(n));
}

void GaussianProcess::append(const Eigen::RowVectorXd& point, double y) {
  const double mean = append_row(point);
  y_[size_ - 1] = y;
  reduced_[size_ - 1] = (y - mean) / factor_(size_ - 1, size_ - 1);
}

void GaussianProcess::append_believed(const Eigen::RowVectorXd& point) {
  const double mean = append_row(point);
  y_[size_ - 1] = mean;
  reduced_[size_ - 1] = 0;
}

void GaussianProcess::solve() {
  weights_ = reduced_.head(size_);
  factor_.topLeftCorner(size_, size_)
      .triangularView<Eigen::Lower>()
      .adjoint()
      .solveInPlace(weights_);
}

Vector GaussianProcess::means_at_observations() const {
  return y_.head(size_) - parameters_.noise() * weights_;
}

GaussianProcess::Predictions GaussianProcess::predict(const Matrix& points) const {
  Matrix covariance(size_, points.rows());
  for (Index j = 0; j < points.rows(); ++j) {
    covariance.col(j) = MaternKernel::covariances(
        parameters_, kernel_.squared_distances(parameters_, x_.topRows(size_), points.row(j)));
  }
  Predictions predictions;
  predictions.means = covariance.transpose() * weights_;
  factor_.topLeftCorner(size_, size_).triangularView<Eigen::Lower>().solveInPlace(covariance);
  const double variance = parameters_.variance() + MaternKernel::mean_variance;
  predictions.deviations = (variance - covariance.colwise().squaredNorm().array())
                               .max(least_pivot * variance)
                               .sqrt()
                               .transpose();
  return predictions;
}

GaussianProcess::Prediction GaussianProcess::predict_with_slopes(
    const Eigen::RowVectorXd& point) const {
  const Eigen::ArrayXd squares = kernel_.squared_distances(parameters_, x_.topRows(size_), point);
  const Vector covariance = MaternKernel::covariances(parameters_, squares).matrix();
  const Eigen::ArrayXd slopes = MaternKernel::slopes(parameters_, squares);
  Vector solved = covariance;
  const auto factor = factor_.topLeftCorner(size_, size_).triangularView<Eigen::Lower>();
  factor.solveInPlace(solved);
  const double variance = parameters_.variance() + MaternKernel::mean_variance;
  const double left = std::max(variance - solved.squaredNorm(), least_pivot * variance);
  factor.adjoint().solveInPlace(solved);

  Prediction prediction{.mean = covariance.dot(weights_),
                        .deviation = std::sqrt(left),
                        .mean_slopes = Eigen::RowVectorXd::Zero(dimensions()),
                        .deviation_slopes = Eigen::RowVectorXd::Zero(dimensions())};
  for (Index d = 0; d < dimensions(); ++d) {
    if (kernel_.is_categorical(d)) continue;
    const double weight = 2 * std::exp(-2 * parameters_.log_lengths[d]);
    const Vector by_point = (slopes * (point[d] - x_.col(d).head(size_).array()) * weight).matrix();
    prediction.mean_slopes[d] = by_point.dot(weights_);
    prediction.deviation_slopes[d] = -by_point.dot(solved) / prediction.deviation;
  }
  return prediction;
}

}  // namespace tune::searchers
