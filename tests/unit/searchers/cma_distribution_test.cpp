// The core against what is known of CMA-ES, without bounds, trials or a model.
#include "searchers/cma_distribution.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/random.hpp>

#include "searchers/cma_margin.hpp"

namespace tune::searchers {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Function = std::function<double(const VectorXd&)>;

struct Run {
  CmaDistribution distribution;
  std::vector<double> bests;  // of each generation
};

VectorXd normal_vector(Random& random, Eigen::Index size) {
  VectorXd vector(size);
  for (double& coordinate : vector) coordinate = random.normal();
  return vector;
}

// `turn` is applied to each draw of standard normal vectors: a rotation changes nothing but the
// axes.
Run run(const Function& f, Eigen::Index n, int generations, bool diagonal = false,
        const VectorXd& start = {}, const MatrixXd& turn = {}, std::uint64_t seed = 1) {
  Run run;
  const VectorXd mean = start.size() == 0 ? VectorXd(VectorXd::Constant(n, 3)) : start;
  run.distribution = CmaDistribution(mean, 1, diagonal);
  const auto size = static_cast<std::size_t>(n);
  const std::size_t population = 4 + static_cast<std::size_t>(3 * std::log(double(n)));
  Random random(seed);
  for (int generation = 0; generation < generations; ++generation) {
    std::vector<std::pair<double, VectorXd>> members;
    for (std::size_t i = 0; i < population; ++i) {
      VectorXd normal = normal_vector(random, n);
      if (turn.size() > 0) normal = turn * normal;
      const VectorXd place = run.distribution.place(normal);
      members.emplace_back(f(place), place);
    }
    std::stable_sort(members.begin(), members.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    CmaGeneration next{.places = {}, .weights = cma_weights(population, size)};
    for (auto& [value, place] : members) next.places.push_back(std::move(place));
    run.bests.push_back(members.front().first);
    run.distribution.update(next);
  }
  return run;
}

double sphere(const VectorXd& x) { return x.squaredNorm(); }

double ellipsoid(const VectorXd& x) {
  double sum = 0;
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    sum += std::pow(1e6, double(i) / double(x.size() - 1)) * x(i) * x(i);
  }
  return sum;
}

// Orthogonal: Gram and Schmidt on normal vectors.
MatrixXd rotation(Eigen::Index n) {
  Random random(99);
  MatrixXd turned(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    VectorXd column = normal_vector(random, n);
    for (Eigen::Index j = 0; j < i; ++j) column -= turned.col(j).dot(column) * turned.col(j);
    turned.col(i) = column.normalized();
  }
  return turned;
}

TEST_CASE("weights of CMA-ES: section 3, equations 49 to 53", "[cma_es]") {
  const std::vector<double> weights = cma_weights(10, 10);
  REQUIRE(weights.size() == 10);
  CHECK(std::is_sorted(weights.rbegin(), weights.rend()));
  double above = 0;
  double squares = 0;
  for (int i = 0; i < 5; ++i) {
    CHECK(weights[std::size_t(i)] > 0);
    CHECK(weights[std::size_t(i)] / weights[0] ==
          Approx((std::log(5.5) - std::log(i + 1.0)) / std::log(5.5)));
    above += weights[std::size_t(i)];
    squares += weights[std::size_t(i)] * weights[std::size_t(i)];
  }
  CHECK(above == Approx(1));
  CHECK(1 / squares == Approx(3.1673).epsilon(1e-3));  // mu_eff, about 0.3 lambda
  for (int i = 5; i < 10; ++i) CHECK(weights[std::size_t(i)] < 0);
}

TEST_CASE("on the sphere CMA-ES converges linearly", "[cma_es]") {
  for (const Eigen::Index n : {2, 5, 10}) {
    const Run found = run(sphere, n, 300);
    // A factor per generation that stays: the logarithm falls by the same in each half.
    const double first = std::log(found.bests[150] / found.bests[30]);
    const double second = std::log(found.bests[270] / found.bests[150]);
    INFO(n << ": " << first << " and " << second);
    CHECK(first < -10);
    CHECK(second / first > 0.7);
    CHECK(second / first < 1.4);
  }
}

TEST_CASE("CMA-ES learns a quadratic of condition 1e6, and its axes", "[cma_es]") {
  const Eigen::Index n = 6;
  const MatrixXd turn = rotation(n);
  const auto turned = [&turn](const VectorXd& x) { return ellipsoid(turn * x); };
  const Run found = run(turned, n, 500);
  CHECK(found.bests.back() < 1e-9);
  CHECK(found.distribution.condition() > 1e4);
  CHECK(found.distribution.condition() < 1e8);
  // Without its axes the same takes far longer.
  const Run diagonal = run(turned, n, 500, true);
  CHECK(diagonal.bests.back() > 1e3 * found.bests.back());
  // Unless they are the coordinates'.
  CHECK(run(ellipsoid, n, 500, true).bests.back() < 1e-9);
}

TEST_CASE("CMA-ES does not depend on the axes", "[cma_es]") {
  const Eigen::Index n = 4;
  const MatrixXd turn = rotation(n);
  const auto turned = [&turn](const VectorXd& x) { return ellipsoid(turn * x); };
  const VectorXd start = VectorXd::Constant(n, 2);
  // First generations only: axes of equal length are in no order.
  const Run plain = run(ellipsoid, n, 1, false, start);
  const Run other = run(turned, n, 1, false, turn.transpose() * start, turn.transpose());
  CHECK(other.bests.front() == Approx(plain.bests.front()));
  CHECK((turn * other.distribution.mean() - plain.distribution.mean()).norm() < 1e-9);
  CHECK(other.distribution.sigma() == Approx(plain.distribution.sigma()));
  CHECK(other.distribution.condition() == Approx(plain.distribution.condition()));
  // And later in the mean of many runs.
  double logs = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    logs +=
        std::log(run(ellipsoid, n, 60, false, start, {}, seed).bests.back()) -
        std::log(run(turned, n, 60, false, turn.transpose() * start, {}, seed + 100).bests.back());
  }
  CHECK(std::abs(logs / 40) < 2);
}

TEST_CASE("CMA-ES sees the order of values alone", "[cma_es]") {
  const Run plain = run(ellipsoid, 5, 80);
  const Run squeezed = run([](const VectorXd& x) { return std::atan(ellipsoid(x) * 1e-9); }, 5, 80);
  CHECK(plain.distribution.mean() == squeezed.distribution.mean());
  CHECK(plain.distribution.sigma() == squeezed.distribution.sigma());
}

TEST_CASE("places from elsewhere move CMA-ES no further than draws could", "[cma_es]") {
  const auto n = Eigen::Index{4};
  CmaDistribution distribution(VectorXd::Zero(n), 1, false);
  CmaGeneration next{.places = {}, .weights = cma_weights(8, 4)};
  for (int i = 0; i < 8; ++i) next.places.push_back(VectorXd::Constant(n, 1e6));
  distribution.update(next);
  CHECK(distribution.mean().norm() == Approx(2 + 8.0 / 6));
  CHECK(distribution.sigma() < 3);
}

TEST_CASE("a saved distribution goes on bit for bit", "[cma_es]") {
  for (const bool diagonal : {false, true}) {
    const Run found = run(ellipsoid, 5, 40, diagonal);
    CmaDistribution restored;
    restored.restore(Json::parse(found.distribution.save().dump()));
    const VectorXd normal = VectorXd::Constant(5, 0.7);
    CHECK(restored.place(normal) == found.distribution.place(normal));
    CHECK(restored.save() == found.distribution.save());
    CHECK((restored.normal(restored.place(normal)) - normal).norm() < 1e-6);
  }
}

// How likely a draw of the only coordinate leaves the cell, below and above.
std::pair<double, double> leaving(const CmaDistribution& distribution, const UnitInterval& cell) {
  const double mean = distribution.mean()(0);
  const double deviation = distribution.deviation(0);
  return {0.5 * std::erfc((mean - cell.first) / deviation / std::sqrt(2.0)),
          0.5 * std::erfc((cell.last - mean) / deviation / std::sqrt(2.0))};
}

TEST_CASE("the margin keeps the neighbours of a value in reach", "[cma_es]") {
  const double margin = 0.05;
  const auto kept = [&](double mean, double deviation, const UnitInterval& cell) {
    CmaDistribution distribution(VectorXd::Constant(1, mean), deviation, false);
    keep_margin(distribution, 0, cell, margin);
    return std::pair(leaving(distribution, cell), distribution);
  };
  // At the bounds, equation 9: there is one way out.
  CHECK(kept(0.02, 1e-6, {0, 0.1}).first.second == Approx(margin));
  CHECK(kept(0.99, 1e-6, {0.9, 1}).first.first == Approx(margin));
  // Between, equations 10 to 17: half of it either way.
  const auto [both, distribution] = kept(0.45, 1e-6, {0.4, 0.5});
  CHECK(both.first >= margin / 2 * 0.999);
  CHECK(both.second >= margin / 2 * 0.999);
  CHECK(both.first + both.second < 2 * margin);
  // What is wide enough stays.
  const auto [wide, unmoved] = kept(0.45, 0.2, {0.4, 0.5});
  CHECK(unmoved.mean()(0) == 0.45);
  CHECK(unmoved.deviation(0) == Approx(0.2));
}

}  // namespace
}  // namespace tune::searchers
