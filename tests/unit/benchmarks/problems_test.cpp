#include "benchmarks/problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/searchers/random.hpp>

#include "engine/suggestion_source.hpp"

namespace tune::bench {
namespace {

using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

const Problem& problem_named(const std::string& name) {
  static const std::vector<Problem> problems = all_problems();
  const auto found = std::find_if(problems.begin(), problems.end(),
                                  [&](const Problem& problem) { return problem.name == name; });
  if (found == problems.end()) throw std::out_of_range("no problem " + name);
  return *found;
}

struct CheckValue {
  const char* problem;
  Json config;
  double value;
};

TEST_CASE("the reference functions have the values that are on record", "[benchmarks]") {
  Json ackley = Json::object();
  for (int i = 0; i < 10; ++i) ackley["x" + std::to_string(i)] = 1.5 * i - 5;
  const std::vector<CheckValue> checks = {
      {"branin", {{"x0", 0.0}, {"x1", 0.0}}, 55.6021126422703},
      {"hartmann6",
       {{"x0", 0.5}, {"x1", 0.5}, {"x2", 0.5}, {"x3", 0.5}, {"x4", 0.5}, {"x5", 0.5}},
       -0.505314991702233},
      {"rosenbrock5", {{"x0", -1.0}, {"x1", 0.0}, {"x2", 1.0}, {"x3", 2.0}, {"x4", 3.0}}, 406},
      {"ackley10_shift", ackley, 18.2848606614456},
      {"mixed_flat",
       {{"lr", 0.02},
        {"wd", 1e-6},
        {"layers", 7},
        {"units", 300},
        {"dropout", 0.35},
        {"opt", "momentum"}},
       1.27346208436088},
      {"cond_tree",
       {{"model", "svm"}, {"kernel", "rbf"}, {"C", 3.0}, {"gamma", 0.05}},
       0.176250731584411},
      {"cond_tree", {{"model", "svm"}, {"kernel", "linear"}, {"C", 0.2}}, 0.324427953348075},
      {"cond_tree",
       {{"model", "gbt"}, {"depth", 9}, {"eta", 0.03}, {"n_est", 250}},
       0.261203260608579},
      {"cond_tree",
       {{"model", "mlp"}, {"n_layers", 3}, {"u0", 100}, {"u1", 30}, {"u2", 300}, {"mlp_lr", 0.02}},
       1.19515355086655},
  };
  for (const CheckValue& check : checks) {
    INFO(check.problem << " at " << check.config);
    const Problem& problem = problem_named(check.problem);
    CHECK_NOTHROW(problem.space.check_point(check.config));
    CHECK_THAT(problem.value(Config(check.config)), WithinRel(check.value, 1e-13));
  }
}

TEST_CASE("each problem has its least value where it says, and random search finds none below",
          "[benchmarks]") {
  for (const Problem& problem : all_problems()) {
    INFO(problem.name);
    CHECK_NOTHROW(problem.space.check_point(problem.optimum_at));
    CHECK_THAT(problem.value(Config(problem.optimum_at)), WithinAbs(problem.optimum, 1e-9));
    if (problem.fails) CHECK_FALSE(problem.fails(Config(problem.optimum_at)));
    engine::SuggestionSource source(problem.space, {.num_samples = 500}, random_search());
    for (std::uint64_t i = 0; i < 500; ++i) {
      const Config config = std::get<Config>(source.suggest(TrialId(i)));
      if (problem.fails && problem.fails(config)) continue;
      CHECK_FALSE(problem.value(config) < problem.optimum);
    }
  }
}

TEST_CASE("the least of the categories' cells is the one on record", "[benchmarks]") {
  const Problem& problem = problem_named("categories8");
  const auto value_of_cell = [&](int cell) {
    Json config = Json::object();
    int rest = cell;
    for (int i = 0; i < 8; ++i, rest /= 4) {
      config["c" + std::to_string(i)] = std::string(1, static_cast<char>('a' + rest % 4));
    }
    // The floats at their best.
    config["x"] = 0.1 + 0.25 * (cell % 4);
    config["y"] = 0.1 + 0.2 * (cell / 16384);
    return problem.value(Config(std::move(config)));
  };
  double least = value_of_cell(0);
  for (int cell = 1; cell < 65536; ++cell) least = std::min(least, value_of_cell(cell));
  CHECK_THAT(least, WithinAbs(problem.optimum, 1e-12));
}

TEST_CASE("a fifth of the failing problem has no value, half of it as a failure", "[benchmarks]") {
  const Problem& problem = problem_named("failing_camel4");
  engine::SuggestionSource source(problem.space, {.num_samples = 5000}, random_search());
  int failed = 0;
  int without_value = 0;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const Config config = std::get<Config>(source.suggest(TrialId(i)));
    if (problem.fails(config)) {
      ++failed;
    } else if (std::isnan(problem.value(config))) {
      ++without_value;
    }
  }
  CHECK(failed == Approx(500).margin(80));
  CHECK(without_value == Approx(500).margin(80));
}

}  // namespace
}  // namespace tune::bench
