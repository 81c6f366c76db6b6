#include "searchers/box_minimizer.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

namespace tune::searchers {
namespace {

using Vector = Eigen::VectorXd;

constexpr std::size_t most_pairs = 8;
constexpr double gradient_tolerance = 1e-5;
constexpr double relative_gain = 1e-8;
constexpr double sufficient_decrease = 1e-4;

struct CurvaturePair {
  Vector step;
  Vector change;  // of the gradient
};

Vector projected(const Vector& x, const Vector& lower, const Vector& upper) {
  return x.cwiseMax(lower).cwiseMin(upper);
}

// Without the components that a bound holds back.
Vector free_part(const Vector& direction, const Vector& x, const Vector& gradient,
                 const Vector& lower, const Vector& upper) {
  Vector free = direction;
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    if ((x[i] <= lower[i] && gradient[i] > 0) || (x[i] >= upper[i] && gradient[i] < 0)) free[i] = 0;
  }
  return free;
}

// The inverse Hessian as the pairs have it, times `gradient`: the two-loop recursion.
Vector newton_step(const std::deque<CurvaturePair>& pairs, Vector gradient) {
  std::deque<double> factors;
  for (auto pair = pairs.rbegin(); pair != pairs.rend(); ++pair) {
    const double factor = pair->step.dot(gradient) / pair->step.dot(pair->change);
    gradient -= factor * pair->change;
    factors.push_front(factor);
  }
  const CurvaturePair& last = pairs.back();
  gradient *= last.step.dot(last.change) / last.change.squaredNorm();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const CurvaturePair& pair = pairs[i];
    const double factor = pair.change.dot(gradient) / pair.step.dot(pair.change);
    gradient += (factors[i] - factor) * pair.step;
  }
  return gradient;
}

}  // namespace

BoxMinimum minimize_in_box(const SmoothFunction& function, const Vector& start, const Vector& lower,
                           const Vector& upper, int most_evaluations) {
  BoxMinimum at{.x = projected(start, lower, upper)};
  Vector gradient(at.x.size());
  at.value = function(at.x, gradient);
  std::deque<CurvaturePair> pairs;
  for (int evaluations = 1; evaluations < most_evaluations;) {
    const Vector steepest = free_part(-gradient, at.x, gradient, lower, upper);
    const double largest = steepest.size() > 0 ? steepest.lpNorm<Eigen::Infinity>() : 0;
    if (!std::isfinite(at.value) || !(largest > gradient_tolerance)) break;
    Vector direction = steepest * std::min(1.0, 0.1 / largest);
    if (!pairs.empty()) {
      direction = free_part(newton_step(pairs, -steepest) * -1, at.x, gradient, lower, upper);
      if (!(direction.dot(gradient) < 0)) direction = steepest * std::min(1.0, 0.1 / largest);
    }
    BoxMinimum next;
    Vector next_gradient(at.x.size());
    bool is_lower = false;
    for (double length = 1; evaluations < most_evaluations && length > 1e-4; length *= 0.3) {
      next.x = projected(at.x + length * direction, lower, upper);
      next.value = function(next.x, next_gradient);
      ++evaluations;
      const double slope = gradient.dot(next.x - at.x);
      is_lower = next.value <= at.value + sufficient_decrease * slope && slope < 0;
      if (is_lower) break;
    }
    if (!is_lower) {
      if (pairs.empty()) break;
      pairs.clear();  // the curvature is another one here
      continue;
    }
    CurvaturePair pair{.step = next.x - at.x, .change = next_gradient - gradient};
    if (pair.step.dot(pair.change) > 1e-10 * pair.change.squaredNorm()) {
      pairs.push_back(std::move(pair));
      if (pairs.size() > most_pairs) pairs.pop_front();
    }
    const double gain = at.value - next.value;
    at = std::move(next);
    gradient = next_gradient;
    if (gain <= relative_gain * (1 + std::abs(at.value))) break;
  }
  return at;
}

}  // namespace tune::searchers
