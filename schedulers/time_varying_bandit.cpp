#include "time_varying_bandit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Dense>

namespace tune::schedulers {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

struct Kernel {
  double length = 0.4;
  double epsilon = 0.1;
  double noise = 0.01;  // variance, where that of the gains is 1
};

/// Points as columns, parameters and time apart.
struct Points {
  Matrix x;
  Vector time;
};

Points points_of(std::size_t dimensions, std::size_t count) {
  return {Matrix(static_cast<Eigen::Index>(dimensions), static_cast<Eigen::Index>(count)),
          Vector(static_cast<Eigen::Index>(count))};
}

void set_point(Points& points, std::size_t index, const BanditPoint& point) {
  const auto column = static_cast<Eigen::Index>(index);
  for (std::size_t i = 0; i < point.x.size(); ++i) {
    points.x(static_cast<Eigen::Index>(i), column) = point.x[i];
  }
  points.time(column) = point.time;
}

/// Of the points of `a` from those of `b`: their squared distance, and how long lies between.
struct Distances {
  Matrix squared;
  Matrix time;
};

Distances distances(const Points& a, const Points& b) {
  const Vector a_norms = a.x.colwise().squaredNorm();
  const Vector b_norms = b.x.colwise().squaredNorm();
  Distances result{-2 * a.x.transpose() * b.x, Matrix(a.time.size(), b.time.size())};
  result.squared.colwise() += a_norms;
  result.squared.rowwise() += b_norms.transpose();
  result.squared = result.squared.cwiseMax(0);  // where rounding left less
  for (Eigen::Index j = 0; j < b.time.size(); ++j) {
    result.time.col(j) = (a.time.array() - b.time(j)).abs();
  }
  return result;
}

Matrix covariance(const Kernel& kernel, const Distances& apart) {
  const double scale = -0.5 / (kernel.length * kernel.length);
  const double decay = 0.5 * std::log1p(-kernel.epsilon);
  return (scale * apart.squared.array() + decay * apart.time.array()).exp();
}

Eigen::LLT<Matrix> factored(const Kernel& kernel, const Distances& apart) {
  Matrix matrix = covariance(kernel, apart);
  matrix.diagonal().array() += kernel.noise;
  return matrix.llt();
}

double log_likelihood(const Kernel& kernel, const Distances& apart, const Vector& gains) {
  const Eigen::LLT<Matrix> factor = factored(kernel, apart);
  if (factor.info() != Eigen::Success) return -std::numeric_limits<double>::infinity();
  const double fit = gains.dot(factor.solve(gains));
  return -0.5 * fit - factor.matrixLLT().diagonal().array().log().sum();
}

// The first of the best, in the order of the grid.
Kernel fit(const Points& points, const Vector& gains) {
  const Distances apart = distances(points, points);
  Kernel best;
  double best_likelihood = -std::numeric_limits<double>::infinity();
  for (const double length : {0.1, 0.2, 0.4, 0.8, 1.6}) {
    for (const double epsilon : {0.0, 0.03, 0.1, 0.3}) {
      for (const double noise : {0.001, 0.03, 0.3}) {
        const Kernel kernel{length, epsilon, noise};
        const double likelihood = log_likelihood(kernel, apart, gains);
        if (likelihood > best_likelihood) {
          best = kernel;
          best_likelihood = likelihood;
        }
      }
    }
  }
  return best;
}

/// Upper confidence bounds at one time.
class Acquisition {
 public:
  /// `known` are the observed points, of which `gains` are the gains, and after them the pending.
  Acquisition(const Kernel& kernel, const Points& known, const Vector& gains, double time)
      : kernel_(kernel), known_(known), time_(time) {
    factor_ = factored(kernel_, distances(known_, known_));
    // The factor of the observed points alone is the first part of it.
    const auto observed = gains.size();
    const auto part = factor_.matrixLLT().topLeftCorner(observed, observed);
    weights_ = part.triangularView<Eigen::Lower>().solve(gains);
    part.triangularView<Eigen::Lower>().transpose().solveInPlace(weights_);
    // The paper's schedule with the constants of its code: c1 + log(c2 t).
    const double beta = 0.2 + std::max(0.0, std::log(0.4 * static_cast<double>(gains.size())));
    root_beta_ = std::sqrt(beta);
  }

  [[nodiscard]] Vector operator()(const Matrix& x) const {
    const Points points{x, Vector::Constant(x.cols(), time_)};
    Matrix to_known = covariance(kernel_, distances(known_, points));
    const Vector mean = to_known.topRows(weights_.size()).transpose() * weights_;
    factor_.matrixL().solveInPlace(to_known);
    const Vector variance =
        (1 - to_known.colwise().squaredNorm().transpose().array()).max(0.0).matrix();
    return mean + root_beta_ * variance.cwiseSqrt();
  }

 private:
  Kernel kernel_;
  const Points& known_;
  double time_;
  Vector weights_;
  Eigen::LLT<Matrix> factor_;
  double root_beta_ = 0;
};

// Draws all over the cube, then ever closer around the best so far.
Vector maximise(const Acquisition& acquisition, Eigen::Index dimensions, Random& random) {
  constexpr Eigen::Index draws = 400;
  constexpr int rounds = 6;
  Vector best = Vector::Constant(dimensions, 0.5);
  double best_value = -std::numeric_limits<double>::infinity();
  double width = 0;  // of the first round: the whole cube
  for (int round = 0; round < rounds; ++round) {
    Matrix x(dimensions, round == 0 ? draws : draws / 8);
    for (Eigen::Index j = 0; j < x.cols(); ++j) {
      for (Eigen::Index i = 0; i < dimensions; ++i) {
        x(i, j) =
            round == 0 ? random.uniform() : std::clamp(best(i) + width * random.normal(), 0.0, 1.0);
      }
    }
    const Vector values = acquisition(x);
    for (Eigen::Index j = 0; j < x.cols(); ++j) {
      if (values(j) > best_value) {
        best = x.col(j);
        best_value = values(j);
      }
    }
    width = round == 0 ? 0.1 : width / 2.5;
  }
  return best;
}

// To mean 0 and variance 1.
Vector standardised(const std::vector<BanditObservation>& observations, std::size_t first) {
  Vector gains(static_cast<Eigen::Index>(observations.size() - first));
  for (std::size_t i = first; i < observations.size(); ++i) {
    gains(static_cast<Eigen::Index>(i - first)) = observations[i].gain;
  }
  gains.array() -= gains.mean();
  const double deviation = std::sqrt(gains.squaredNorm() / static_cast<double>(gains.size()));
  if (deviation > 0) gains /= deviation;
  return gains;
}

}  // namespace

std::vector<double> choose_point(const std::vector<BanditObservation>& observations,
                                 const std::vector<BanditPoint>& pending, double time,
                                 std::size_t dimensions, Random& random) {
  constexpr std::size_t most_fitted = 100;
  std::vector<double> chosen(dimensions);
  if (observations.size() < 2) {
    for (double& x : chosen) x = random.uniform();
    return chosen;
  }
  const std::size_t first = observations.size() - std::min(observations.size(), most_observations);
  const std::size_t count = observations.size() - first;
  const std::size_t others = std::min(pending.size(), most_pending);
  Points known = points_of(dimensions, count + others);
  for (std::size_t i = 0; i < count; ++i) set_point(known, i, observations[first + i].at);
  for (std::size_t i = 0; i < others; ++i) {
    set_point(known, count + i, pending[pending.size() - others + i]);
  }
  const Vector gains = standardised(observations, first);
  const auto fitted = static_cast<Eigen::Index>(std::min(count, most_fitted));
  const auto first_fitted = gains.size() - fitted;
  const Points newest{known.x.middleCols(first_fitted, fitted),
                      known.time.segment(first_fitted, fitted)};
  const Kernel kernel = fit(newest, gains.tail(fitted));
  const Acquisition acquisition(kernel, known, gains, time);
  const Vector best = maximise(acquisition, static_cast<Eigen::Index>(dimensions), random);
  for (std::size_t i = 0; i < dimensions; ++i) chosen[i] = best(static_cast<Eigen::Index>(i));
  return chosen;
}

}  // namespace tune::schedulers
