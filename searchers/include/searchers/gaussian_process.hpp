#pragma once

#include <utility>

#include <Eigen/Core>

#include "searchers/matern_kernel.hpp"

namespace tune::searchers {

/// A Gaussian process with its parameters given: the Cholesky factor of the covariances of what is
/// known, to which one observation is added in O(n^2).
///
/// The same calls give the same bits, so that one made again from a saved state goes on alike.
class GaussianProcess {
 public:
  struct Predictions {
    Eigen::VectorXd means;
    Eigen::VectorXd deviations;  ///< Of the function, without noise.
  };
  struct Prediction {
    double mean = 0;
    double deviation = 0;
    Eigen::RowVectorXd mean_slopes;  ///< By each dimension; 0 for categorical ones.
    Eigen::RowVectorXd deviation_slopes;
  };

  GaussianProcess() = default;
  explicit GaussianProcess(MaternKernel kernel) : kernel_(std::move(kernel)) {}

  /// Starts anew from rows of `x` with values `y`: O(n^3). Where the matrix is singular in double
  /// precision the noise is raised, tenfold each time; false if no noise up to 1 makes it regular.
  [[nodiscard]] bool set(MaternParameters parameters, const Eigen::MatrixXd& x,
                         const Eigen::VectorXd& y);
  void append(const Eigen::RowVectorXd& point, double y);
  /// A point that is being evaluated, as if it had the value predicted for it (the "kriging
  /// believer" of Ginsbourger et al., 2010): predictions stay, the uncertainty near it goes.
  void append_believed(const Eigen::RowVectorXd& point);
  /// Forgets all but the first `size` observations.
  void truncate(Eigen::Index size) { size_ = size; }
  /// To be called after the last change and before predicting: O(n^2).
  void solve();

  [[nodiscard]] Eigen::Index size() const { return size_; }
  [[nodiscard]] Eigen::Index dimensions() const { return kernel_.dimensions(); }
  [[nodiscard]] const MaternKernel& kernel() const { return kernel_; }
  [[nodiscard]] const MaternParameters& parameters() const { return parameters_; }
  [[nodiscard]] auto points() const { return x_.topRows(size_); }
  /// The means at the observations, those that are believed included.
  [[nodiscard]] Eigen::VectorXd means_at_observations() const;

  /// O(n^2) a row.
  [[nodiscard]] Predictions predict(const Eigen::MatrixXd& points) const;
  [[nodiscard]] Prediction predict_with_slopes(const Eigen::RowVectorXd& point) const;

 private:
  void reserve(Eigen::Index size);
  // Adds a row to the factor; returns the mean there, before.
  double append_row(const Eigen::RowVectorXd& point);

  MaternKernel kernel_;
  MaternParameters parameters_;
  Eigen::Index size_ = 0;
  // Room for more rows than there are.
  Eigen::MatrixXd x_;
  Eigen::MatrixXd factor_;  // lower triangle
  Eigen::VectorXd y_;
  Eigen::VectorXd reduced_;  // factor^-1 y
  Eigen::VectorXd weights_;  // factor^-T reduced
};

}  // namespace tune::searchers
