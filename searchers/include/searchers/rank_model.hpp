#pragma once

#include <cstddef>
#include <vector>

#include <Eigen/Core>

namespace tune::searchers {

/// A Gaussian process of ranks: tells which of some places are likely to be better.
///
/// Matern 5/2; length and noise are the likeliest of a few. Sees the order of losses alone.
class RankModel {
 public:
  /// `places` from the best to the worst; equal scores are given to those with equal `ranks`, which
  /// do not fall. @pre at least one place, all of one size
  RankModel(const std::vector<Eigen::VectorXd>& places, const std::vector<std::size_t>& ranks);

  /// The expected score at `place`: low is good.
  [[nodiscard]] double at(const Eigen::VectorXd& place) const;

 private:
  Eigen::MatrixXd places_;  // [size of a place, places]
  double length_ = 1;
  Eigen::VectorXd weights_;
};

}  // namespace tune::searchers
