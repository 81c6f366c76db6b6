#include "searchers/cma_distribution.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include <Eigen/Eigenvalues>

#include "core/saved_number.hpp"

namespace tune::searchers {
namespace {

// Below this part of the longest one an axis counts as so long.
constexpr double shortest_axis = 1e-10;

// What the update's rates are made of, for weights of the variance effective mass `mass`.
struct Rates {
  double sigma = 0;    // c_sigma
  double damping = 0;  // d_sigma
  double path = 0;     // c_c
  double one = 0;      // c_1
  double rank = 0;     // c_mu

  Rates(double n, double mass, bool diagonal) {
    sigma = (mass + 2) / (n + mass + 5);
    damping = 1 + 2 * std::max(0.0, std::sqrt((mass - 1) / (n + 1)) - 1) + sigma;
    path = (4 + mass / n) / (n + 4 + 2 * mass / n);
    one = 2 / ((n + 1.3) * (n + 1.3) + mass);
    rank = std::min(1 - one, 2 * (0.25 + mass + 1 / mass - 2) / ((n + 2) * (n + 2) + mass));
    if (!diagonal) return;
    const double faster = (n + 2) / 3;
    one = std::min(1.0, one * faster);
    rank = std::min(1 - one, rank * faster);
  }
};

double effective_mass(const std::vector<double>& weights) {
  double squares = 0;
  for (const double weight : weights) squares += weight > 0 ? weight * weight : 0;
  return 1 / squares;
}

// Of the length of a standard normal vector.
double expected_length(double n) { return std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n)); }

Json saved_matrix(const Eigen::MatrixXd& matrix, bool lower_half) {
  Json saved = Json::array();
  for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
    for (Eigen::Index row = lower_half ? column : 0; row < matrix.rows(); ++row) {
      saved.push_back(core::saved_number(matrix(row, column)));
    }
  }
  return saved;
}

Eigen::VectorXd restored_vector(const Json& saved) {
  Eigen::VectorXd vector(static_cast<Eigen::Index>(saved.size()));
  Eigen::Index i = 0;
  for (const Json& value : saved) vector(i++) = core::restored_number(value, "cma_es");
  return vector;
}

Eigen::MatrixXd restored_shape(const Json& saved, Eigen::Index n, bool diagonal) {
  if (diagonal) return restored_vector(saved);
  Eigen::MatrixXd shape(n, n);
  auto value = saved.begin();
  for (Eigen::Index column = 0; column < n; ++column) {
    for (Eigen::Index row = column; row < n; ++row, ++value) {
      shape(row, column) = shape(column, row) = core::restored_number(*value, "cma_es");
    }
  }
  return shape;
}

}  // namespace

std::vector<double> cma_weights(std::size_t count, std::size_t dimensions) {
  const auto n = static_cast<double>(dimensions);
  std::vector<double> weights;
  for (std::size_t i = 1; i <= count; ++i) {
    weights.push_back(std::log((static_cast<double>(count) + 1) / 2) -
                      std::log(static_cast<double>(i)));
  }
  double above = 0;
  double below = 0;
  double squares_above = 0;
  double squares_below = 0;
  for (const double weight : weights) {
    (weight > 0 ? above : below) += std::abs(weight);
    (weight > 0 ? squares_above : squares_below) += weight * weight;
  }
  const double mass = above * above / squares_above;
  const Rates rates(n, mass, false);
  const double mass_below = squares_below > 0 ? below * below / squares_below : 0;
  const double sum_below = std::min({1 + rates.one / rates.rank, 1 + 2 * mass_below / (mass + 2),
                                     (1 - rates.one - rates.rank) / (n * rates.rank)});
  for (double& weight : weights) {
    weight = weight > 0 ? weight / above : weight / std::max(below, 1e-300) * sum_below;
  }
  return weights;
}

CmaDistribution::CmaDistribution(Eigen::VectorXd mean, double sigma, bool diagonal)
    : diagonal_(diagonal),
      sigma_(sigma),
      mean_(std::move(mean)),
      stretch_(Eigen::VectorXd::Ones(mean_.size())),
      sigma_path_(Eigen::VectorXd::Zero(mean_.size())),
      shape_path_(Eigen::VectorXd::Zero(mean_.size())) {
  shape_ = diagonal ? Eigen::MatrixXd(Eigen::VectorXd::Ones(mean_.size()))
                    : Eigen::MatrixXd::Identity(mean_.size(), mean_.size());
  decompose();
}

CmaDistribution::CmaDistribution(Eigen::VectorXd mean, double sigma, Eigen::MatrixXd shape)
    : CmaDistribution(std::move(mean), sigma, false) {
  shape_ = std::move(shape);
  decompose();
}

void CmaDistribution::decompose() {
  if (diagonal_ || mean_.size() == 0) {
    lengths_ = shape_.reshaped().cwiseMax(0).cwiseSqrt();
    return;
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(shape_);
  axes_ = solver.eigenvectors();
  const double longest = std::sqrt(std::max(solver.eigenvalues().maxCoeff(), 1e-300));
  lengths_ = solver.eigenvalues().cwiseMax(0).cwiseSqrt().cwiseMax(longest * shortest_axis);
}

double CmaDistribution::deviation(std::size_t d) const {
  const auto i = static_cast<Eigen::Index>(d);
  return sigma_ * stretch_(i) * std::sqrt(diagonal_ ? shape_(i, 0) : shape_(i, i));
}

double CmaDistribution::largest_deviation() const {
  return size() == 0 ? 0 : sigma_ * lengths_.maxCoeff();
}

double CmaDistribution::condition() const {
  if (size() == 0) return 1;
  const double ratio = lengths_.maxCoeff() / lengths_.minCoeff();
  return ratio * ratio;
}

Eigen::VectorXd CmaDistribution::place(const Eigen::VectorXd& normal) const {
  Eigen::VectorXd step = lengths_.cwiseProduct(normal);
  if (!diagonal_ && size() > 0) step = axes_ * step;
  return mean_ + sigma_ * stretch_.cwiseProduct(step);
}

Eigen::VectorXd CmaDistribution::normal(const Eigen::VectorXd& place) const {
  Eigen::VectorXd step = (place - mean_).cwiseQuotient(stretch_) / sigma_;
  if (!diagonal_ && size() > 0) step = axes_.transpose() * step;
  return step.cwiseQuotient(lengths_);
}

void CmaDistribution::update(const CmaGeneration& generation) {
  if (size() == 0 || generation.places.empty()) return;
  const auto n = static_cast<double>(size());
  const auto count = static_cast<Eigen::Index>(generation.places.size());
  const double longest = std::sqrt(n) + 2 * n / (n + 2);
  Eigen::MatrixXd normals(mean_.size(), count);
  for (Eigen::Index i = 0; i < count; ++i) {
    normals.col(i) = normal(generation.places[static_cast<std::size_t>(i)]);
    const double length = normals.col(i).norm();
    if (length > longest) normals.col(i) *= longest / length;
  }
  Eigen::VectorXd step = Eigen::VectorXd::Zero(mean_.size());  // in normals
  for (Eigen::Index i = 0; i < count; ++i) {
    const double weight = generation.weights[static_cast<std::size_t>(i)];
    if (weight > 0) step += weight * normals.col(i);
  }
  Eigen::MatrixXd steps = lengths_.asDiagonal() * normals;
  if (!diagonal_) steps = axes_ * steps;

  const double mass = effective_mass(generation.weights);
  const Rates rates(n, mass, diagonal_);
  mean_ = place(step);
  // B * step: C^(-1/2) of the mean's step.
  const Eigen::VectorXd turned = diagonal_ ? step : Eigen::VectorXd(axes_ * step);
  sigma_path_ =
      (1 - rates.sigma) * sigma_path_ + std::sqrt(rates.sigma * (2 - rates.sigma) * mass) * turned;
  ++updates_;
  const double forgotten = 1 - std::pow(1 - rates.sigma, 2 * static_cast<double>(updates_));
  const bool is_stalled =
      sigma_path_.norm() / std::sqrt(forgotten) >= (1.4 + 2 / (n + 1)) * expected_length(n);
  Eigen::VectorXd mean_step = lengths_.cwiseProduct(step);
  if (!diagonal_) mean_step = axes_ * mean_step;
  shape_path_ *= 1 - rates.path;
  if (!is_stalled) shape_path_ += std::sqrt(rates.path * (2 - rates.path) * mass) * mean_step;
  adapt_shape(steps, normals, generation.weights, is_stalled);
  const double growth = rates.sigma / rates.damping * (sigma_path_.norm() / expected_length(n) - 1);
  sigma_ *= std::exp(std::min(1.0, growth));
}

void CmaDistribution::adapt_shape(const Eigen::MatrixXd& steps, const Eigen::MatrixXd& normals,
                                  const std::vector<double>& weights, bool is_stalled) {
  const auto n = static_cast<double>(size());
  const Rates rates(n, effective_mass(weights), diagonal_);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double lost = is_stalled ? rates.path * (2 - rates.path) : 0;
  shape_ *= 1 + rates.one * lost - rates.one - rates.rank * sum;
  const auto add = [&](const Eigen::VectorXd& step, double weight) {
    if (diagonal_) {
      shape_ += weight * step.cwiseProduct(step);
    } else {
      shape_ += weight * step * step.transpose();
    }
  };
  add(shape_path_, rates.one);
  for (Eigen::Index i = 0; i < steps.cols(); ++i) {
    const double weight = weights[static_cast<std::size_t>(i)];
    const double length = normals.col(i).squaredNorm();
    // So that C stays positive definite.
    const double scale = weight >= 0 ? 1 : n / std::max(length, 1e-300);
    add(steps.col(i), rates.rank * weight * std::min(scale, 1e300));
  }
  if (diagonal_) shape_ = shape_.cwiseMax(1e-300);
  decompose();
}

void CmaDistribution::set_marginal(std::size_t d, double mean, double deviation) {
  const auto i = static_cast<Eigen::Index>(d);
  stretch_(i) *= deviation / this->deviation(d);
  mean_(i) = mean;
}

void CmaDistribution::limit_deviation(double least, double most) {
  const double largest = largest_deviation();
  if (largest > 0) sigma_ *= std::clamp(largest, least, most) / largest;
}

Json CmaDistribution::save() const {
  return {{"diagonal", diagonal_},
          {"sigma", core::saved_number(sigma_)},
          {"updates", updates_},
          {"mean", saved_matrix(mean_, false)},
          {"stretch", saved_matrix(stretch_, false)},
          {"shape", saved_matrix(shape_, !diagonal_)},
          {"sigma_path", saved_matrix(sigma_path_, false)},
          {"shape_path", saved_matrix(shape_path_, false)}};
}

void CmaDistribution::restore(const Json& state) {
  diagonal_ = state.at("diagonal").get<bool>();
  sigma_ = core::restored_number(state.at("sigma"), "cma_es");
  updates_ = state.at("updates").get<std::int64_t>();
  mean_ = restored_vector(state.at("mean"));
  stretch_ = restored_vector(state.at("stretch"));
  shape_ = restored_shape(state.at("shape"), mean_.size(), diagonal_);
  sigma_path_ = restored_vector(state.at("sigma_path"));
  shape_path_ = restored_vector(state.at("shape_path"));
  decompose();
}

}  // namespace tune::searchers
