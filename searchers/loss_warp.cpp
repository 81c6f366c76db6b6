#include "searchers/loss_warp.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace tune::searchers {
namespace {

constexpr double farthest = 100;
constexpr double least_deviation = 1e-9;
constexpr std::size_t first_trials = 20;

// Changes the order.
double median(std::span<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

LossScale::LossScale(std::span<const double> losses) {
  std::vector<double> finite;
  std::copy_if(losses.begin(), losses.end(), std::back_inserter(finite),
               [](double loss) { return std::isfinite(loss); });
  const std::span<double> first(finite.data(), std::min(finite.size(), first_trials));
  const double first_median = median(first);
  const double all_median = median(finite);
  const auto [best, worst] = std::minmax_element(finite.begin(), finite.end());
  best_ = *best;
  // Halved first: the difference of two finite numbers need not be finite.
  const auto distance = [&](double loss) {
    return std::min(2 * (0.5 * loss - 0.5 * best_), std::numeric_limits<double>::max());
  };
  unit_ = distance(std::max(first_median, all_median));
  if (!(unit_ > 0)) unit_ = distance(*worst);
  if (!(unit_ >= std::numeric_limits<double>::min())) unit_ = 1;  // all the same
  worst_ = std::min(farthest, distance(*worst) / unit_);
  // Something failed and there is nothing to compare it with: it shall not look like the best.
  if (worst_ == 0 && finite.size() < losses.size()) worst_ = 1;
}

double LossScale::operator()(double loss) const {
  if (!std::isfinite(loss)) return worst_;
  return std::clamp((0.5 * loss - 0.5 * best_) / (0.5 * unit_), -farthest, farthest);
}

Json LossScale::save() const { return {best_, unit_, worst_}; }

void LossScale::restore(const Json& state) {
  best_ = state.at(0).get<double>();
  unit_ = state.at(1).get<double>();
  worst_ = state.at(2).get<double>();
}

LossWarp::LossWarp(double log_softness, const Eigen::VectorXd& scaled)
    : softness_(std::exp(log_softness)) {
  const auto n = static_cast<double>(scaled.size());
  Eigen::VectorXd warped(scaled.size());
  double log_slopes = 0;
  for (Eigen::Index i = 0; i < scaled.size(); ++i) {
    warped[i] = std::copysign(std::log1p(std::abs(scaled[i]) / softness_), scaled[i]);
    log_slopes -= std::log(softness_ + std::abs(scaled[i]));
  }
  mean_ = warped.mean();
  deviation_ = std::sqrt((warped.array() - mean_).square().sum() / n);
  if (!(deviation_ > least_deviation)) deviation_ = 1;
  log_jacobian_ = log_slopes - n * std::log(deviation_);
}

double LossWarp::operator()(double scaled) const {
  const double warped = std::copysign(std::log1p(std::abs(scaled) / softness_), scaled);
  return (warped - mean_) / deviation_;
}

Eigen::VectorXd LossWarp::operator()(const Eigen::VectorXd& scaled) const {
  return scaled.unaryExpr([this](double value) { return (*this)(value); });
}

Json LossWarp::save() const { return {softness_, mean_, deviation_}; }

void LossWarp::restore(const Json& state) {
  softness_ = state.at(0).get<double>();
  mean_ = state.at(1).get<double>();
  deviation_ = state.at(2).get<double>();
}

}  // namespace tune::searchers
