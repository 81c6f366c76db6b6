#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/searchers/halton.hpp>
#include <tune/searchers/random.hpp>
#include <tune/searchers/sobol.hpp>

#include "engine/suggestion_source.hpp"
#include "support/suggestions.hpp"

namespace tune::test {
namespace {

using MakeSearcher = std::unique_ptr<Searcher> (*)();
using Points = std::vector<std::vector<double>>;

SearchSpace unit_cube(std::size_t parameters) {
  SearchSpace space;
  for (std::size_t d = 0; d < parameters; ++d) space.add("p" + std::to_string(d), uniform(0, 1));
  return space;
}

Points points(MakeSearcher make, std::size_t count, std::size_t parameters,
              std::uint64_t seed = 1) {
  engine::SuggestionSource source(unit_cube(parameters),
                                  {.seed = seed, .num_samples = static_cast<std::int64_t>(count)},
                                  make());
  Points found;
  for (const Config& config : suggest_all(source, count)) {
    found.emplace_back();
    for (std::size_t d = 0; d < parameters; ++d) {
      found.back().push_back(config["p" + std::to_string(d)].get<double>());
    }
  }
  return found;
}

// The squared L2 star discrepancy by Warnock's formula (1972).
double discrepancy(const Points& points) {
  const auto n = static_cast<double>(points.size());
  const std::size_t dimensions = points.front().size();
  double ones = 0;
  double pairs = 0;
  for (const auto& a : points) {
    double product = 1;
    for (const double x : a) product *= (1 - x * x) / 2;
    ones += product;
    for (const auto& b : points) {
      double pair = 1;
      for (std::size_t d = 0; d < dimensions; ++d) pair *= 1 - std::max(a[d], b[d]);
      pairs += pair;
    }
  }
  return std::pow(3.0, -static_cast<double>(dimensions)) - 2 * ones / n + pairs / (n * n);
}

double mean_discrepancy(MakeSearcher make, std::size_t count, std::size_t parameters) {
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    sum += discrepancy(points(make, count, parameters, seed));
  }
  return sum / 5;
}

// How many of `slices` equal parts of [0, 1) hold exactly one of the values.
std::size_t parts_with_one(const Points& points, std::size_t d, std::size_t slices) {
  std::vector<int> counts(slices, 0);
  for (const auto& point : points) {
    ++counts[static_cast<std::size_t>(point[d] * static_cast<double>(slices))];
  }
  return static_cast<std::size_t>(std::count(counts.begin(), counts.end(), 1));
}

TEST_CASE("the first 2^k Sobol points have one in each of 2^k slices of every parameter",
          "[sobol]") {
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const std::size_t count : {1, 8, 64, 256}) {
      const Points found = points(sobol, count, 40, seed);
      for (std::size_t d = 0; d < 40; ++d) REQUIRE(parts_with_one(found, d, count) == count);
    }
  }
}

TEST_CASE("the first 64 Sobol points are a net in the first two parameters", "[sobol]") {
  // A (0, 6, 2)-net in base 2: one point in each box of 2^-a times 2^-(6 - a).
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Points found = points(sobol, 64, 2, seed);
    for (int a = 0; a <= 6; ++a) {
      std::set<std::pair<int, int>> boxes;
      for (const auto& point : found) {
        boxes.emplace(static_cast<int>(std::ldexp(point[0], a)),
                      static_cast<int>(std::ldexp(point[1], 6 - a)));
      }
      CHECK(boxes.size() == 64);
    }
  }
}

TEST_CASE("the first b^k Halton points have one in each of b^k slices", "[halton]") {
  for (const std::uint64_t seed : {1, 2, 3}) {
    CHECK(parts_with_one(points(halton, 64, 3, seed), 0, 64) == 64);
    CHECK(parts_with_one(points(halton, 81, 3, seed), 1, 81) == 81);
    CHECK(parts_with_one(points(halton, 125, 3, seed), 2, 125) == 125);
    // The hundredth prime.
    CHECK(parts_with_one(points(halton, 541, 100, seed), 99, 541) == 541);
  }
}

TEST_CASE("Sobol and Halton points are more even than random ones", "[sobol][halton]") {
  for (const std::size_t parameters : {2, 5}) {
    for (const std::size_t count : {64, 128}) {
      const double random = mean_discrepancy(random_search, count, parameters);
      CHECK(mean_discrepancy(sobol, count, parameters) < random / 2);
      CHECK(mean_discrepancy(halton, count, parameters) < random / 2);
    }
  }
}

TEST_CASE("over the seeds each single Sobol and Halton point is uniform", "[sobol][halton]") {
  for (const MakeSearcher make : {sobol, halton}) {
    for (const std::size_t d : {0, 1, 2, 30}) {
      std::vector<int> counts(10, 0);
      for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        ++counts[static_cast<std::size_t>(points(make, 6, 31, seed).back()[d] * 10)];
      }
      double chi_squared = 0;
      for (const int count : counts) chi_squared += (count - 100) * (count - 100) / 100.0;
      CHECK(chi_squared < 33);  // 1 of 10,000 is above, of 9 degrees of freedom
    }
  }
}

TEST_CASE("neighbouring parameters with large primes are not in step", "[halton]") {
  // Unscrambled, the first 30 Halton points of bases 31 and 37 lie on a line.
  double largest = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Points found = points(halton, 30, 12, seed);
    double product = 0;
    for (const auto& point : found) product += (point[10] - 0.5) * (point[11] - 0.5);
    largest = std::max(largest, std::abs(product / 30 * 12));
  }
  CHECK(largest < 0.8);
}

TEST_CASE("trial i has point i whatever is asked before, and seeds differ", "[sobol][halton]") {
  const SearchSpace space = unit_cube(3);
  for (const MakeSearcher make : {sobol, halton}) {
    const auto searcher = make();
    searcher->setup({.space = &space, .objective = {}, .seed = 7});
    const auto ask = [&](std::uint64_t trial, std::uint64_t attempt) {
      return std::get<Config>(searcher->suggest(
          {.trial = TrialId(trial), .fixed = Config(), .attempt = attempt, .random = Random(0)}));
    };
    const Config fifth = ask(5, 0);
    const Config again = ask(5, 1);
    CHECK_FALSE(fifth == again);
    CHECK_FALSE(again == ask(5, 2));
    CHECK(ask(9, 0) == ask(9, 0));
    CHECK(ask(5, 0) == fifth);
    CHECK(points(make, 4, 3, 1) == points(make, 4, 3, 1));
    CHECK_FALSE(points(make, 4, 3, 1) == points(make, 4, 3, 2));
  }
}

TEST_CASE("each cell of a grid has the whole sequence, before and after it goes on",
          "[sobol][halton]") {
  const SearchSpace space = {{"x", uniform(0, 1)},
                             {"k", branch({{"a", {{"g", grid_search({1, 2})}}}, {"b", {}}})}};
  for (const MakeSearcher make : {sobol, halton}) {
    const engine::SuggestionOptions options = {.seed = 3, .num_samples = 16};
    engine::SuggestionSource source(space, options, make());
    std::vector<Config> configs = suggest_all(source, 10);
    engine::SuggestionSource restored(space, options, make());
    restored.restore(Json::parse(source.save().dump()));
    // Or from the record alone.
    engine::SuggestionSource told(space, options, make());
    for (std::size_t i = 0; i < 10; ++i) told.take_suggestion(TrialId(i), configs[i]);
    const std::vector<Config> rest = suggest_all(source, 100, 10);
    CHECK(rest == suggest_all(restored, 100, 10));
    CHECK(rest == suggest_all(told, 100, 10));
    configs.insert(configs.end(), rest.begin(), rest.end());
    REQUIRE(configs.size() == 48);
    std::map<std::string, std::set<int>> slices;
    for (const Config& config : configs) {
      const std::string cell = config["k"].json().dump() + config.json().value("g", Json()).dump();
      slices[cell].insert(static_cast<int>(config["x"].get<double>() * 16));
    }
    REQUIRE(slices.size() == 3);
    for (const auto& [cell, seen] : slices) CHECK(seen.size() == 16);
  }
}

TEST_CASE("SS-05: options and quantised values come up equally often", "[SS-05]") {
  for (const MakeSearcher make : {sobol, halton}) {
    engine::SuggestionSource source(
        {{"q", quniform(32, 96, 32)}, {"c", choice({"a", "b", "c", "d"})}, {"x", uniform(0, 1)}},
        {.seed = 1, .num_samples = 1200}, make());
    std::map<std::string, int> counts;
    for (const Config& config : suggest_all(source, 1200)) {
      ++counts[config["q"].json().dump()];
      ++counts[config["c"].json().dump()];
    }
    REQUIRE(counts.size() == 3 + 4);
    for (const char* q : {"32.0", "64.0", "96.0"}) CHECK(counts[q] == Approx(400).margin(8));
    for (const char* c : {"\"a\"", "\"b\"", "\"c\"", "\"d\""}) {
      CHECK(counts[c] == Approx(300).margin(8));
    }
  }
}

TEST_CASE("SS-16: Sobol and Halton searches support every domain", "[SS-16]") {
  for (const MakeSearcher make : {sobol, halton}) {
    engine::SuggestionSource source({{"z", normal(0, 1)},
                                     {"x", uniform(0, 1)},
                                     {"q", qnormal(0, 2, 0.5)},
                                     {"l", qloguniform(1, 9, 2)},
                                     {"n", lograndint(1, 1000)},
                                     {"o", ordinal({"s", "m", "l"})}},
                                    {.seed = 1, .num_samples = 128}, make());
    int below = 0;
    for (const Config& config : suggest_all(source)) {
      CHECK(config.json().size() == 6);
      CHECK(config["n"].json().is_number_integer());
      below += config["z"].get<double>() < 0 ? 1 : 0;
    }
    CHECK(below == 64);  // a median in the middle; 2 is the first base of both
  }
}

TEST_CASE("Sobol beyond its direction numbers draws at random", "[sobol]") {
  const Points found = points(sobol, 3, 3700);
  for (const auto& point : found) {
    for (const double x : point) CHECK((x >= 0 && x < 1));
  }
  CHECK(found[0][3690] != found[1][3690]);
  CHECK(found[0][3690] != found[0][3691]);
}

}  // namespace
}  // namespace tune::test
