#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include <Eigen/Core>

namespace tune::searchers {

/// How a Gaussian process sees its inputs: a length for each dimension, a variance, a noise.
struct MaternParameters {
  Eigen::VectorXd log_lengths;
  double log_variance = 0;
  double log_noise = -6;  ///< Of the variance of the noise.

  [[nodiscard]] double variance() const { return std::exp(log_variance); }
  [[nodiscard]] double noise() const { return std::exp(log_noise); }
};

/// Matern 5/2 with a length for each dimension, plus a constant: the mean of the process is
/// unknown, normal with variance `mean_variance`, and integrated out.
///
/// Inputs are rows. Numeric dimensions differ by (a - b)^2 / length^2, categorical ones by
/// 1 / length^2 where they are not equal (Hamming).
class MaternKernel {
 public:
  static constexpr double mean_variance = 1;

  MaternKernel() = default;
  explicit MaternKernel(std::vector<bool> is_categorical)
      : is_categorical_(std::move(is_categorical)) {}

  [[nodiscard]] Eigen::Index dimensions() const {
    return static_cast<Eigen::Index>(is_categorical_.size());
  }
  [[nodiscard]] bool is_categorical(Eigen::Index d) const {
    return is_categorical_[static_cast<std::size_t>(d)];
  }

  /// The squares of the scaled distances of all rows of `x` from `point`.
  [[nodiscard]] Eigen::ArrayXd squared_distances(const MaternParameters& parameters,
                                                 const Eigen::Ref<const Eigen::MatrixXd>& x,
                                                 const Eigen::RowVectorXd& point) const {
    Eigen::ArrayXd squares = Eigen::ArrayXd::Zero(x.rows());
    for (Eigen::Index d = 0; d < dimensions(); ++d) {
      const double weight = std::exp(-2 * parameters.log_lengths[d]);
      if (is_categorical(d)) {
        squares +=
            (x.col(d).array() != point[d]).select(Eigen::ArrayXd::Constant(x.rows(), weight), 0.0);
      } else {
        squares += (x.col(d).array() - point[d]).square() * weight;
      }
    }
    return squares;
  }

  /// Covariances of the function's values at distances whose squares are given.
  [[nodiscard]] static Eigen::ArrayXd covariances(const MaternParameters& parameters,
                                                  const Eigen::ArrayXd& squares) {
    const Eigen::ArrayXd s = (5 * squares).sqrt();
    return parameters.variance() * ((1 + s + s.square() / 3) * (-s).exp()) + mean_variance;
  }

  /// Their derivatives by the squares.
  [[nodiscard]] static Eigen::ArrayXd slopes(const MaternParameters& parameters,
                                             const Eigen::ArrayXd& squares) {
    const Eigen::ArrayXd s = (5 * squares).sqrt();
    return (-5.0 / 6 * parameters.variance()) * ((1 + s) * (-s).exp());
  }

 private:
  std::vector<bool> is_categorical_;
};

}  // namespace tune::searchers
