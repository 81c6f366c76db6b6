#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/problem.hpp"
#include "heldout_trees.hpp"
#include "problem_parts.hpp"

namespace tune::bench {
namespace {

// Laguna and Marti, "Experimental Testing of Advanced Scatter Search Designs", 2005.
Problem levy4() {
  return {.name = "levy4",
          .about = "4 floats, many local minima on a slope",
          .space = floats(4, -10, 10),
          .value =
              [](const Config& config) {
                using std::numbers::pi;
                std::vector<double> w = numbers(config, 4);
                for (double& x : w) x = 1 + (x - 1) / 4;
                double sum = square(std::sin(pi * w[0]));
                for (std::size_t i = 0; i + 1 < w.size(); ++i) {
                  sum += square(w[i] - 1) * (1 + 10 * square(std::sin(pi * w[i] + 1)));
                }
                return sum + square(w[3] - 1) * (1 + square(std::sin(2 * pi * w[3])));
              },
          .optimum = 0,
          .optimum_at = point({1, 1, 1, 1})};
}

double griewank_shift(std::size_t i) { return 180 * std::sin(static_cast<double>(i) + 1); }

Problem griewank8_shift() {
  std::vector<double> best;
  for (std::size_t i = 0; i < 8; ++i) best.push_back(griewank_shift(i));
  return {.name = "griewank8_shift",
          .about = "8 floats, a bowl under small waves",
          .space = floats(8, -600, 600),
          .value =
              [](const Config& config) {
                const std::vector<double> x = numbers(config, 8);
                double sum = 1;
                double product = 1;
                for (std::size_t i = 0; i < x.size(); ++i) {
                  const double z = x[i] - griewank_shift(i);
                  sum += z * z / 4000;
                  product *= std::cos(z / std::sqrt(static_cast<double>(i) + 1));
                }
                return sum - product;
              },
          .optimum = 0,
          .optimum_at = point(best)};
}

Problem styblinski_tang5() {
  constexpr double least = -2.903534027771177;
  return {.name = "styblinski_tang5",
          .about = "5 floats, 32 valleys of different depth",
          .space = floats(5, -5, 5),
          .value =
              [](const Config& config) {
                double sum = 0;
                for (const double x : numbers(config, 5)) {
                  sum += (square(x * x) - 16 * x * x + 5 * x) / 2;
                }
                return sum;
              },
          .optimum = -195.83082851885,
          .optimum_at = point({least, least, least, least, least})};
}

Problem int_sphere6() {
  static constexpr std::int64_t centre[] = {-37, 12, 0, 41, -8, 23};
  Json best = Json::object();
  for (std::size_t i = 0; i < 6; ++i) best["x" + std::to_string(i)] = centre[i];
  return {.name = "int_sphere6",
          .about = "6 integers, a bowl",
          .space = repeated(6, randint(-50, 51)),
          .value =
              [](const Config& config) {
                double sum = 0;
                const std::vector<double> x = numbers(config, 6);
                for (std::size_t i = 0; i < 6; ++i) {
                  sum += square(x[i] - static_cast<double>(centre[i]));
                }
                return sum;
              },
          .optimum = 0,
          .optimum_at = best};
}

// After the third function of De Jong, "An Analysis of the Behavior of a Class of Genetic Adaptive
// Systems", 1975.
Problem steps5() {
  static constexpr double centre[] = {3.3, -7.1, 11.9, 0.4, -14.2};
  return {.name = "steps5",
          .about = "5 floats, a staircase: flat all around each point",
          .space = floats(5, -20, 20),
          .value =
              [](const Config& config) {
                double sum = 0;
                const std::vector<double> x = numbers(config, 5);
                for (std::size_t i = 0; i < 5; ++i)
                  sum += square(std::floor(x[i] - centre[i] + 0.5));
                return sum;
              },
          .optimum = 0,
          .optimum_at = point({3.3, -7.1, 11.9, 0.4, -14.2})};
}

Problem log_valley3() {
  return {.name = "log_valley3",
          .about = "3 floats over many powers of ten, a bent narrow valley",
          .space = {{"a", loguniform(1e-6, 1e2)},
                    {"b", loguniform(1e-6, 1e2)},
                    {"c", loguniform(1e-3, 1e3)}},
          .value =
              [](const Config& config) {
                const double u = std::log10(number(config, "a")) + 2;
                const double v = std::log10(number(config, "b")) + 1;
                return 10 * square(v - u * u) + 0.1 * square(1 - u) +
                       0.2 * square(std::log10(number(config, "c")));
              },
          .optimum = 0,
          .optimum_at = {{"a", 0.1}, {"b", 1.0}, {"c", 1.0}}};
}

// Main effects and interactions of neighbours that follow no order.
double categories8_value(const Config& config) {
  int level[8];
  for (int i = 0; i < 8; ++i) level[i] = text(config, "c" + std::to_string(i)).at(0) - 'a';
  double sum = 0;
  for (int i = 0; i < 8; ++i) {
    sum += ((3 * level[i] * level[i] + 5 * i * level[i] + 2 * i) % 7) / 7.0;
    if (i > 0) {
      const int pair = 3 * level[i - 1] + 5 * level[i] + i * level[i - 1] * level[i];
      sum += 1.5 * ((pair % 5) / 5.0);
    }
  }
  return sum + 2 * square(number(config, "x") - 0.1 - 0.25 * level[0]) +
         2 * square(number(config, "y") - 0.1 - 0.2 * level[7]);
}

Problem categories8() {
  SearchSpace space;
  for (int i = 0; i < 8; ++i) {
    space.add("c" + std::to_string(i), choice({"a", "b", "c", "d"}));
  }
  space.add("x", uniform(0, 1));
  space.add("y", uniform(0, 1));
  return {.name = "categories8",
          .about = "8 choices of 4 that depend on their neighbours, and 2 floats",
          .space = std::move(space),
          .value = categories8_value,
          .optimum = 2.02857142857143,  // the least of 4^8 cells, found by going through them
          .optimum_at = {{"c0", "a"},
                         {"c1", "a"},
                         {"c2", "c"},
                         {"c3", "a"},
                         {"c4", "a"},
                         {"c5", "d"},
                         {"c6", "c"},
                         {"c7", "a"},
                         {"x", 0.1},
                         {"y", 0.1}}};
}

Problem noisy_hartmann3() {
  return {.name = "noisy_hartmann3",
          .about = "3 floats, normal noise of 0.2 on each value",
          .space = floats(3, 0, 1),
          .value =
              [](const Config& config) {
                constexpr double c[4] = {1, 1.2, 3, 3.2};
                constexpr double a[4][3] = {{3, 10, 30}, {0.1, 10, 35}, {3, 10, 30}, {0.1, 10, 35}};
                constexpr double p[4][3] = {
                    {3689, 1170, 2673}, {4699, 4387, 7470}, {1091, 8732, 5547}, {381, 5743, 8828}};
                const std::vector<double> x = numbers(config, 3);
                double sum = 0;
                for (std::size_t i = 0; i < 4; ++i) {
                  double exponent = 0;
                  for (std::size_t j = 0; j < 3; ++j) {
                    exponent += a[i][j] * square(x[j] - 1e-4 * p[i][j]);
                  }
                  sum += c[i] * std::exp(-exponent);
                }
                return -sum;
              },
          .optimum = -3.86277978733266,
          .optimum_at = point({0.11458888, 0.55564890, 0.85254699}),
          .noise = 0.2};
}

// The six-hump camel (Dixon and Szego, "Towards Global Optimization 2", 1978) and a bowl. A tenth
// of the space right of its least value fails, a tenth left of the other one has no value.
Problem failing_camel4() {
  return {
      .name = "failing_camel4",
      .about = "4 floats; a tenth of the space fails, a tenth gives NaN, beside the best values",
      .space = {{"x", uniform(-3, 3)},
                {"y", uniform(-2, 2)},
                {"z0", uniform(-1, 1)},
                {"z1", uniform(-1, 1)}},
      .value =
          [](const Config& config) {
            const double x = number(config, "x");
            const double y = number(config, "y");
            if (-0.9 <= x && x < -0.3) return std::numeric_limits<double>::quiet_NaN();
            const double x2 = x * x;
            return (4 - 2.1 * x2 + x2 * x2 / 3) * x2 + x * y + (4 * y * y - 4) * y * y +
                   0.5 * square(number(config, "z0") - 0.3) +
                   0.5 * square(number(config, "z1") + 0.6);
          },
      .optimum = -1.03162845348988,
      .optimum_at = {{"x", 0.08984201}, {"y", -0.71265640}, {"z0", 0.3}, {"z1", -0.6}},
      .fails =
          [](const Config& config) {
            const double x = number(config, "x");
            return 0.3 <= x && x < 0.9;
          }};
}

Problem sparse25() {
  std::vector<double> best(25, 0.5);
  best[2] = 0.15;
  best[7] = 0.7;
  best[13] = 0.65;
  best[21] = 0.45;
  return {.name = "sparse25",
          .about = "25 floats, of which 4 matter",
          .space = floats(25, 0, 1),
          .value =
              [](const Config& config) {
                const double a = number(config, "x13");
                const double b = number(config, "x21");
                return 4 * square(number(config, "x2") - 0.15) +
                       2 * square(number(config, "x7") - 0.7) + 3 * square(a + b - 1.1) +
                       square(a - b - 0.2);
              },
          .optimum = 0,
          .optimum_at = point(best)};
}

}  // namespace

std::vector<Problem> heldout_problems() {
  return {levy4(),     griewank8_shift(), styblinski_tang5(), int_sphere6(),
          steps5(),    log_valley3(),     categories8(),      noisy_hartmann3(),
          deep_tree(), twin_tree(),       failing_camel4(),   sparse25()};
}

std::vector<Problem> all_problems() {
  std::vector<Problem> problems = reference_problems();
  for (Problem& problem : heldout_problems()) problems.push_back(std::move(problem));
  return problems;
}

}  // namespace tune::bench
