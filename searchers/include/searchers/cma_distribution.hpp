#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <Eigen/Core>

#include <tune/json.hpp>

namespace tune::searchers {

/// One recombination: the places of its members and what each weighs, which may be below zero.
struct CmaGeneration {
  std::vector<Eigen::VectorXd> places;
  std::vector<double> weights;  ///< Those above zero sum to 1.
};

/// The weights of `count` members from the best to the worst, as equations 49 to 53 of the tutorial
/// have them, for `dimensions` parameters.
[[nodiscard]] std::vector<double> cma_weights(std::size_t count, std::size_t dimensions);

/// The normal distribution that CMA-ES adapts: Hansen, "The CMA Evolution Strategy: A Tutorial",
/// arXiv:1604.00772, 2016, with negative weights (active CMA). Knows nothing of bounds.
///
/// `diagonal` adapts variances alone, at a higher rate (Ros and Hansen, "A Simple Modification in
/// CMA-ES Achieving Linear Time and Space Complexity", 2008).
class CmaDistribution {
 public:
  CmaDistribution() = default;
  /// @pre `sigma > 0`
  CmaDistribution(Eigen::VectorXd mean, double sigma, bool diagonal);
  /// Starts with a covariance: that of the places is `sigma`^2 * `shape`.
  CmaDistribution(Eigen::VectorXd mean, double sigma, Eigen::MatrixXd shape);

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(mean_.size()); }
  [[nodiscard]] const Eigen::VectorXd& mean() const { return mean_; }
  [[nodiscard]] double sigma() const { return sigma_; }
  /// The standard deviation of a coordinate.
  [[nodiscard]] double deviation(std::size_t d) const;
  /// The largest standard deviation of any direction.
  [[nodiscard]] double largest_deviation() const;
  /// The square of the ratio between the longest axis and the shortest.
  [[nodiscard]] double condition() const;

  /// The place of a standard normal vector: mean + sigma * stretch * C^(1/2) * `normal`.
  [[nodiscard]] Eigen::VectorXd place(const Eigen::VectorXd& normal) const;
  /// The inverse: how many standard deviations from the mean, and where to.
  [[nodiscard]] Eigen::VectorXd normal(const Eigen::VectorXd& place) const;

  /// Equations 41 to 47 of the tutorial. Members further from the mean than all but a few draws
  /// would be, which must come from elsewhere, are brought nearer (Hansen, "Injecting External
  /// Solutions Into CMA-ES", arXiv:1110.4181, 2011, equation 4).
  void update(const CmaGeneration& generation);
  /// Moves the mean of a coordinate and stretches its deviation, as the margin for integers does:
  /// after that deviation(d) is `deviation`. Only draws are stretched, C stays.
  void set_marginal(std::size_t d, double mean, double deviation);

  /// Makes steps larger or smaller, so that the largest deviation is within these bounds.
  void limit_deviation(double least, double most);

  [[nodiscard]] Json save() const;
  void restore(const Json& state);

 private:
  void decompose();
  void adapt_shape(const Eigen::MatrixXd& steps, const Eigen::MatrixXd& normals,
                   const std::vector<double>& weights, bool is_stalled);

  bool diagonal_ = false;
  double sigma_ = 1;
  std::int64_t updates_ = 0;
  Eigen::VectorXd mean_;
  Eigen::VectorXd stretch_;     // of each coordinate
  Eigen::MatrixXd shape_;       // C; its diagonal as a column if diagonal_
  Eigen::VectorXd sigma_path_;  // p_sigma
  Eigen::VectorXd shape_path_;  // p_c
  // Made of shape_: C = axes * diag(lengths^2) * axes^T.
  Eigen::MatrixXd axes_;
  Eigen::VectorXd lengths_;
};

}  // namespace tune::searchers
