#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/problem.hpp"
#include "problem_parts.hpp"

namespace tune::bench {
namespace {

using std::numbers::pi;

Problem branin() {
  return {.name = "branin",
          .about = "2 floats, three equal valleys",
          .space = {{"x0", uniform(-5, 10)}, {"x1", uniform(0, 15)}},
          .value =
              [](const Config& config) {
                const double x0 = number(config, "x0");
                const double x1 = number(config, "x1");
                return square(x1 - 5.1 / (4 * pi * pi) * x0 * x0 + 5 / pi * x0 - 6) +
                       10 * (1 - 1 / (8 * pi)) * std::cos(x0) + 10;
              },
          .optimum = 0.397887357729738,
          .optimum_at = {{"x0", pi}, {"x1", 2.275}}};
}

double hartmann6_value(const Config& config) {
  constexpr std::array<double, 4> c = {1, 1.2, 3, 3.2};
  constexpr double a[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                              {0.05, 10, 17, 0.1, 8, 14},
                              {3, 3.5, 1.7, 10, 17, 8},
                              {17, 8, 0.05, 10, 0.1, 14}};
  constexpr double p[4][6] = {{1312, 1696, 5569, 124, 8283, 5886},
                              {2329, 4135, 8307, 3736, 1004, 9991},
                              {2348, 1451, 3522, 2883, 3047, 6650},
                              {4047, 8828, 8732, 5743, 1091, 381}};
  const std::vector<double> x = numbers(config, 6);
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    double exponent = 0;
    for (std::size_t j = 0; j < 6; ++j) exponent += a[i][j] * square(x[j] - 1e-4 * p[i][j]);
    sum += c[i] * std::exp(-exponent);
  }
  return -sum;
}

Problem hartmann6() {
  return {.name = "hartmann6",
          .about = "6 floats, few local minima",
          .space = floats(6, 0, 1),
          .value = hartmann6_value,
          .optimum = -3.32236801141551,
          .optimum_at =
              point({0.20168951, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730053})};
}

Problem rosenbrock5() {
  return {.name = "rosenbrock5",
          .about = "5 floats, a bent narrow valley",
          .space = floats(5, -5, 10),
          .value =
              [](const Config& config) {
                const std::vector<double> x = numbers(config, 5);
                double sum = 0;
                for (std::size_t i = 0; i + 1 < x.size(); ++i) {
                  sum += 100 * square(x[i + 1] - x[i] * x[i]) + square(1 - x[i]);
                }
                return sum;
              },
          .optimum = 0,
          .optimum_at = point({1, 1, 1, 1, 1})};
}

constexpr double ackley_bound = 32.768;

double ackley_shift(std::size_t i) {
  return 0.3 * ackley_bound * std::sin(static_cast<double>(i) + 1);
}

double ackley10_value(const Config& config) {
  const std::vector<double> x = numbers(config, 10);
  double squares = 0;
  double cosines = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double z = x[i] - ackley_shift(i);
    squares += z * z;
    cosines += std::cos(2 * pi * z);
  }
  return -20 * std::exp(-0.2 * std::sqrt(squares / 10)) - std::exp(cosines / 10) + 20 +
         std::numbers::e;
}

Problem ackley10_shift() {
  std::vector<double> best;
  for (std::size_t i = 0; i < 10; ++i) best.push_back(ackley_shift(i));
  return {.name = "ackley10_shift",
          .about = "10 floats, a needle in waves",
          .space = floats(10, -ackley_bound, ackley_bound),
          .value = ackley10_value,
          .optimum = 0,
          .optimum_at = point(best)};
}

double mixed_flat_value(const Config& config) {
  // The best learning rate's exponent and the penalty of each optimiser.
  static const std::map<std::string, std::pair<double, double>> optimisers = {
      {"sgd", {-1, 0.30}},
      {"momentum", {-1.5, 0.15}},
      {"adam", {-3, 0}},
      {"rmsprop", {-3.5, 0.10}}};
  const auto& [best_exponent, penalty] = optimisers.at(text(config, "opt"));
  const double a = std::log10(number(config, "lr")) - best_exponent;
  const double u = std::log2(number(config, "units")) - 7;
  const double n = number(config, "layers") - 4;
  return penalty + 0.20 * a * a + 0.05 * square(std::log10(number(config, "wd")) + 4 + 0.5 * a) +
         0.04 * n * n + 0.06 * square(u + 0.5 * n) + 2 * square(number(config, "dropout") - 0.2) +
         0.05 * (1 - std::cos(2 * pi * u));
}

Problem mixed_flat() {
  return {.name = "mixed_flat",
          .about = "6 parameters of all kinds that depend on each other",
          .space = {{"lr", loguniform(1e-6, 1)},
                    {"wd", loguniform(1e-8, 1e-1)},
                    {"layers", randint(1, 11)},
                    {"units", lograndint(8, 1025)},
                    {"dropout", quniform(0, 0.8, 0.05)},
                    {"opt", choice({"sgd", "momentum", "adam", "rmsprop"})}},
          .value = mixed_flat_value,
          .optimum = 0,
          .optimum_at = {{"lr", 1e-3},
                         {"wd", 1e-4},
                         {"layers", 4},
                         {"units", 128},
                         {"dropout", 0.2},
                         {"opt", "adam"}}};
}

double svm_value(const Config& config) {
  const double log_c = std::log10(number(config, "C"));
  if (text(config, "kernel") == "linear") return 0.30 + 0.05 * log_c * log_c;
  const double c = log_c - 1;
  return 0.15 + 0.04 * c * c + 0.08 * square(std::log10(number(config, "gamma")) + 2 + 0.5 * c);
}

double gbt_value(const Config& config) {
  const double e = std::log10(number(config, "eta")) + 1;
  return 0.05 + 0.01 * square(number(config, "depth") - 6) + 0.25 * e * e +
         0.10 * square(std::log10(number(config, "n_est") / 400) + e);
}

double mlp_value(const Config& config) {
  constexpr std::array<double, 3> penalties = {0.20, 0, 0.10};
  const auto layers = config["n_layers"].get<std::size_t>();
  double sum = 0.30 * square(std::log10(number(config, "mlp_lr")) + 3) + penalties.at(layers - 1);
  for (std::size_t i = 0; i < layers; ++i) {
    const double best = 7 - static_cast<double>(i);
    sum += 0.05 * square(std::log2(number(config, "u" + std::to_string(i))) - best);
  }
  return sum;
}

SearchSpace cond_tree_space() {
  const Domain units = lograndint(16, 513);
  const SearchSpace svm = {
      {"kernel", branch({{"linear", {}}, {"rbf", {{"gamma", loguniform(1e-4, 1e1)}}}})},
      {"C", loguniform(1e-3, 1e3)}};
  const SearchSpace gbt = {
      {"depth", randint(2, 13)}, {"eta", loguniform(1e-3, 1)}, {"n_est", qrandint(50, 1000, 50)}};
  const SearchSpace mlp = {
      {"n_layers", branch({{1, {}}, {2, {{"u1", units}}}, {3, {{"u1", units}, {"u2", units}}}})},
      {"u0", units},
      {"mlp_lr", loguniform(1e-5, 1e-1)}};
  return {{"model", branch({{"svm", svm}, {"gbt", gbt}, {"mlp", mlp}})}};
}

Problem cond_tree() {
  return {
      .name = "cond_tree",
      .about = "a tree of 3 branches whose best values lie close to each other",
      .space = cond_tree_space(),
      .value =
          [](const Config& config) {
            const std::string model = text(config, "model");
            if (model == "svm") return svm_value(config);
            return model == "gbt" ? gbt_value(config) : mlp_value(config);
          },
      .optimum = 0,
      .optimum_at = {{"model", "mlp"}, {"n_layers", 2}, {"u0", 128}, {"u1", 64}, {"mlp_lr", 1e-3}}};
}

}  // namespace

std::vector<Problem> reference_problems() {
  return {branin(), hartmann6(), rosenbrock5(), ackley10_shift(), mixed_flat(), cond_tree()};
}

}  // namespace tune::bench
