// What the Gaussian-process searcher is made of, against what is known of each part.
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <Eigen/Cholesky>
#include <catch2/catch.hpp>

#include <tune/random.hpp>

#include "searchers/box_minimizer.hpp"
#include "searchers/gaussian_process.hpp"
#include "searchers/gp_fit.hpp"
#include "searchers/log_ei.hpp"
#include "searchers/loss_warp.hpp"

namespace tune::searchers {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

// Two numbers and an option of three.
Matrix some_points(Eigen::Index count, std::uint64_t seed) {
  Random random(seed, "points");
  Matrix x(count, 3);
  for (Eigen::Index i = 0; i < count; ++i) {
    x.row(i) << random.uniform(), random.uniform(), static_cast<double>(random.below(3));
  }
  return x;
}

Vector some_values(const Matrix& x) {
  return (5 * x.col(0).array()).sin() + x.col(1).array().square() + 0.3 * x.col(2).array();
}

const MaternKernel mixed_kernel({false, false, true});

MaternParameters some_parameters() {
  return {.log_lengths = Eigen::Vector3d(std::log(0.4), std::log(0.9), 0.1),
          .log_variance = 0.3,
          .log_noise = std::log(1e-3)};
}

TEST_CASE("log expected improvement, section 4.1: exact where h(z) itself is 0", "[log_ei]") {
  // h(z) = phi(z) + z Phi(z), by tables of both.
  CHECK(log_improvement(0).value == Approx(std::log(0.398942280401432677939946)).epsilon(1e-14));
  CHECK(log_improvement(3).value == Approx(std::log(3.000382154317047)).epsilon(1e-12));
  CHECK(log_improvement(-2).value == Approx(std::log(8.490702616829637e-3)).epsilon(1e-12));
  // For z to -infinity h(z) = phi(z) / z^2 (1 - 3 / z^2 + 15 / z^4 - 105 / z^6 + ...).
  for (const double z : {-30.0, -100.0, -1e4}) {
    const double w = 1 / (z * z);
    const double series = std::log1p(w * (-3 + w * (15 - 105 * w)));
    const double expected = -0.5 * z * z - 0.918938533204672742 + std::log(w) + series;
    CHECK(log_improvement(z).value == Approx(expected).epsilon(1e-11));
  }
  CHECK(std::isfinite(log_improvement(-1e100).value));
}

TEST_CASE("the slope of log expected improvement is its derivative", "[log_ei]") {
  for (double z = -40; z < 6; z += 0.37) {
    const double step = 1e-5 * (1 + std::abs(z));
    const double by_difference =
        (log_improvement(z + step).value - log_improvement(z - step).value) / (2 * step);
    INFO("z " << z);
    CHECK(log_improvement(z).slope == Approx(by_difference).epsilon(1e-6));
  }
  // No step where the two forms meet.
  CHECK(log_improvement(-1.5 - 1e-12).value == Approx(log_improvement(-1.5 + 1e-12).value));
}

TEST_CASE("the way down a curved valley ends at its lowest point", "[box_minimizer]") {
  const auto rosenbrock = [](const Vector& x, Vector& gradient) {
    const double a = x[1] - x[0] * x[0];
    gradient << -400 * x[0] * a - 2 * (1 - x[0]), 200 * a;
    return 100 * a * a + (1 - x[0]) * (1 - x[0]);
  };
  const Eigen::Vector2d start(-1.2, 1);
  const BoxMinimum free =
      minimize_in_box(rosenbrock, start, Eigen::Vector2d(-5, -5), Eigen::Vector2d(5, 5), 300);
  CHECK(free.value < 1e-6);
  // With x0 at most 0.5 the lowest point is (0.5, 0.25), on the bound.
  const BoxMinimum held =
      minimize_in_box(rosenbrock, start, Eigen::Vector2d(-5, -5), Eigen::Vector2d(0.5, 5), 300);
  CHECK(held.x[0] == 0.5);
  CHECK(held.x[1] == Approx(0.25).margin(1e-4));
}

TEST_CASE("a minimum without a value nearby, and a start outside the box", "[box_minimizer]") {
  const auto half_line = [](const Vector& x, Vector& gradient) {
    gradient[0] = 1 - 1 / x[0];
    return x[0] > 0 ? x[0] - std::log(x[0]) : std::numeric_limits<double>::quiet_NaN();
  };
  const auto at = [](double value) { return Vector::Constant(1, value); };
  const BoxMinimum found = minimize_in_box(half_line, at(50), at(-10), at(4), 100);
  CHECK(found.x[0] == Approx(1).margin(1e-3));
  CHECK(minimize_in_box(half_line, at(-1), at(-10), at(4), 100).x[0] == -1);
}

TEST_CASE("losses are scaled to the spread of the first trials", "[loss_warp]") {
  const double infinity = std::numeric_limits<double>::infinity();
  const LossScale scale(std::vector<double>{4, 2, 6, infinity, 1e300});
  CHECK(scale(2) == 0);
  CHECK(scale(6) == 1);  // the median of what is finite
  CHECK(scale(1e300) == 100);
  CHECK(scale(infinity) == 100);
  CHECK(scale(-1e300) == -100);
  // A crowd around the best does not make the unit small.
  std::vector<double> crowd(15, 10);
  crowd.front() = 0;
  crowd.resize(200, 1e-9);
  CHECK(LossScale(crowd)(10) == 1);
}

TEST_CASE("failures among equal losses are worse than these", "[loss_warp]") {
  const double infinity = std::numeric_limits<double>::infinity();
  const LossScale scale(std::vector<double>{3, infinity, 3});
  CHECK(scale(3) == 0);
  CHECK(scale(infinity) == 1);
  const LossScale extremes(std::vector<double>{-1.7e308, 1.7e308, 0});
  CHECK(std::isfinite(extremes(1.7e308)));
  CHECK(std::isfinite(extremes(-1.7e308)));
}

TEST_CASE("the gradient of the posterior is that of its value", "[gp_fit]") {
  const Matrix x = some_points(15, 3);
  const GpData data{.x = x,
                    .scaled = (some_values(x).array() - some_values(x).minCoeff()).matrix(),
                    .active_dimensions = 3};
  for (const std::optional<double> noise : {std::optional<double>(), std::optional(0.01)}) {
    const GpPosterior posterior(mixed_kernel, data, noise);
    GpParameters parameters{.kernel = some_parameters(), .log_softness = 0.4};
    const Vector theta = GpPosterior::packed(parameters);
    Vector gradient(theta.size());
    (void)posterior(theta, gradient);
    for (Eigen::Index i = 0; i < theta.size(); ++i) {
      Vector ignored(theta.size());
      Vector above = theta;
      Vector below = theta;
      above[i] += 1e-5;
      below[i] -= 1e-5;
      const double slope = (posterior(above, ignored) - posterior(below, ignored)) / 2e-5;
      INFO("parameter " << i);
      CHECK(gradient[i] == Approx(slope).epsilon(1e-4).margin(1e-5));
    }
  }
}

TEST_CASE("a fit finds the dimension that does not matter", "[gp_fit]") {
  Matrix x = some_points(40, 5);
  x.col(2).setZero();
  const Vector y = (6 * x.col(0).array()).sin();
  const GpData data{.x = x, .scaled = (y.array() + 1).matrix(), .active_dimensions = 2};
  const GpParameters found =
      fit_gp(mixed_kernel, data, std::nullopt, {GpParameters::prior(mixed_kernel, 2, {})}, 60);
  CHECK(found.kernel.log_lengths[1] > found.kernel.log_lengths[0] + 1);
}

TEST_CASE("predictions are those of the textbook's formulas", "[gaussian_process]") {
  const Matrix x = some_points(20, 7);
  const Vector y = some_values(x);
  const MaternParameters p = some_parameters();
  const auto covariance = [&](const Matrix& a, const Matrix& b) {
    Matrix k(a.rows(), b.rows());
    for (Eigen::Index i = 0; i < a.rows(); ++i) {
      for (Eigen::Index j = 0; j < b.rows(); ++j) {
        double square = a(i, 2) == b(j, 2) ? 0 : std::exp(-2 * p.log_lengths[2]);
        for (int d = 0; d < 2; ++d) {
          square += std::pow((a(i, d) - b(j, d)) / std::exp(p.log_lengths[d]), 2);
        }
        const double s = std::sqrt(5 * square);
        k(i, j) = p.variance() * (1 + s + s * s / 3) * std::exp(-s) + MaternKernel::mean_variance;
      }
    }
    return k;
  };
  const Matrix regular = covariance(x, x) + p.noise() * Matrix::Identity(20, 20);
  const Matrix at = some_points(5, 8);
  const Matrix cross = covariance(x, at);
  const Vector means = cross.transpose() * regular.ldlt().solve(y);
  const Matrix left = covariance(at, at) - cross.transpose() * regular.ldlt().solve(cross);

  GaussianProcess process(mixed_kernel);
  REQUIRE(process.set(p, x.topRows(12), y.head(12)));  // the others one by one
  for (Eigen::Index i = 12; i < 20; ++i) process.append(x.row(i), y[i]);
  process.solve();
  const GaussianProcess::Predictions found = process.predict(at);
  for (Eigen::Index i = 0; i < at.rows(); ++i) {
    CHECK(found.means[i] == Approx(means[i]).epsilon(1e-8));
    CHECK(found.deviations[i] == Approx(std::sqrt(left(i, i))).epsilon(1e-6));
    const GaussianProcess::Prediction one = process.predict_with_slopes(at.row(i));
    CHECK(one.mean == Approx(means[i]).epsilon(1e-8));
    for (int d = 0; d < 2; ++d) {
      Matrix sides = at.row(i).replicate(2, 1);
      sides(0, d) -= 1e-6;
      sides(1, d) += 1e-6;
      const GaussianProcess::Predictions beside = process.predict(sides);
      CHECK(one.mean_slopes[d] ==
            Approx((beside.means[1] - beside.means[0]) / 2e-6).epsilon(1e-4).margin(1e-5));
      CHECK(
          one.deviation_slopes[d] ==
          Approx((beside.deviations[1] - beside.deviations[0]) / 2e-6).epsilon(1e-3).margin(1e-4));
    }
    CHECK(one.mean_slopes[2] == 0);
  }
  const Vector at_observations = process.means_at_observations();
  CHECK((at_observations - process.predict(x).means).cwiseAbs().maxCoeff() < 1e-8);
}

TEST_CASE("what is being evaluated changes no prediction and leaves no doubt",
          "[gaussian_process]") {
  const Matrix x = some_points(10, 9);
  GaussianProcess process(mixed_kernel);
  REQUIRE(process.set(some_parameters(), x, some_values(x)));
  process.solve();
  const Matrix at = some_points(4, 10);
  const GaussianProcess::Predictions before = process.predict(at);
  process.append_believed(at.row(0));
  process.solve();
  const GaussianProcess::Predictions after = process.predict(at);
  CHECK((after.means - before.means).cwiseAbs().maxCoeff() < 1e-10);
  CHECK(after.deviations[0] < 0.1 * before.deviations[0]);
  process.truncate(10);
  process.solve();
  CHECK(process.predict(at).deviations == before.deviations);
}

TEST_CASE("equal points without noise make no singular matrix", "[gaussian_process]") {
  Matrix x = some_points(30, 11);
  for (Eigen::Index i = 1; i < 30; ++i) x.row(i) = x.row(0);
  MaternParameters parameters = some_parameters();
  parameters.log_noise = std::log(1e-300);
  GaussianProcess process(mixed_kernel);
  REQUIRE(process.set(parameters, x, Vector::Ones(30)));
  process.append(x.row(0), 1);
  process.solve();
  const GaussianProcess::Predictions there = process.predict(x.topRows(1));
  CHECK(there.means[0] == Approx(1).epsilon(1e-3));
  CHECK(std::isfinite(there.deviations[0]));
}

}  // namespace
}  // namespace tune::searchers
