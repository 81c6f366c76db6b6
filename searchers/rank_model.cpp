#include "searchers/rank_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Cholesky>

#include <tune/random.hpp>

namespace tune::searchers {
namespace {

// Matern 5/2 of distances in units of the length.
Eigen::ArrayXXd matern(const Eigen::ArrayXXd& squared_distances, double length) {
  const Eigen::ArrayXXd r = (5 * squared_distances).sqrt() / length;
  return (1 + r + r.square() / 3) * (-r).exp();
}

// Normal scores of the ranks; those with equal ranks share the mean of theirs.
Eigen::VectorXd scores_of(const std::vector<std::size_t>& ranks) {
  Eigen::VectorXd scores(static_cast<Eigen::Index>(ranks.size()));
  const auto count = static_cast<double>(ranks.size());
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t last = first;
    double sum = 0;
    for (; last < ranks.size() && ranks[last] == ranks[first]; ++last) {
      sum += normal_quantile((static_cast<double>(last) + 0.5) / count);
    }
    for (std::size_t i = first; i < last; ++i) {
      scores(static_cast<Eigen::Index>(i)) = sum / static_cast<double>(last - first);
    }
    first = last;
  }
  return scores;
}

}  // namespace

RankModel::RankModel(const std::vector<Eigen::VectorXd>& places,
                     const std::vector<std::size_t>& ranks)
    : places_(places.front().size(), static_cast<Eigen::Index>(places.size())) {
  const Eigen::Index count = places_.cols();
  for (Eigen::Index i = 0; i < count; ++i) places_.col(i) = places[static_cast<std::size_t>(i)];
  Eigen::ArrayXXd distances(count, count);
  for (Eigen::Index i = 0; i < count; ++i) {
    distances.col(i) = (places_.colwise() - places_.col(i)).colwise().squaredNorm().transpose();
  }
  const Eigen::VectorXd scores = scores_of(ranks);
  const double unit = std::sqrt(static_cast<double>(std::max<Eigen::Index>(1, places_.rows())));
  double best = -std::numeric_limits<double>::infinity();
  for (const double factor : {1.0, 2.0, 4.0, 8.0, 16.0}) {
    const Eigen::MatrixXd kernel = matern(distances, factor * unit).matrix();
    for (const double noise : {1e-3, 1e-1}) {
      Eigen::MatrixXd noisy = kernel;
      noisy.diagonal().array() += noise;
      const Eigen::LLT<Eigen::MatrixXd> cholesky(noisy);
      const Eigen::VectorXd weights = cholesky.solve(scores);
      // The likelihood at the likeliest variance of the process.
      const double variance = std::max(scores.dot(weights) / static_cast<double>(count), 1e-300);
      const double likelihood = -0.5 * static_cast<double>(count) * std::log(variance) -
                                cholesky.matrixLLT().diagonal().array().log().sum();
      if (!(likelihood > best)) continue;
      best = likelihood;
      length_ = factor * unit;
      weights_ = weights;
    }
  }
}

double RankModel::at(const Eigen::VectorXd& place) const {
  if (weights_.size() == 0) return 0;  // nothing could be told apart
  const Eigen::ArrayXXd distances =
      (places_.colwise() - place).colwise().squaredNorm().transpose().array();
  return matern(distances, length_).matrix().col(0).dot(weights_);
}

}  // namespace tune::searchers
