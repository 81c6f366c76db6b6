#include <tune/searchers/grid.hpp>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/suggestion_source.hpp"
#include "support/suggestions.hpp"

namespace tune {
namespace {

using test::suggest_all;
using Lines = std::vector<std::string>;

Lines run(const SearchSpace& space, engine::SuggestionOptions options = {}) {
  engine::SuggestionSource source(space, std::move(options), grid());
  Lines lines;
  for (const Config& config : suggest_all(source)) lines.push_back(config.dump());
  CHECK(source.total() == lines.size());
  return lines;
}

TEST_CASE("grid tries every configuration in order, the last parameter fastest", "[grid]") {
  CHECK(run({{"b", choice({"x", "y"})}, {"a", quniform(0, 0.2, 0.1)}, {"c", 7}}) ==
        Lines{R"({"a":0.0,"b":"x","c":7})", R"({"a":0.1,"b":"x","c":7})",
              R"({"a":0.2,"b":"x","c":7})", R"({"a":0.0,"b":"y","c":7})",
              R"({"a":0.1,"b":"y","c":7})", R"({"a":0.2,"b":"y","c":7})"});
}

TEST_CASE("grid takes conditional parameters only where they are active", "[grid]") {
  CHECK(run({{"o", branch({{"k", {{"n", randint(0, 2)}}}, {"l", {}}})},
             {"s", {{"x", uniform(3, 3)}}},
             {"f", sample_from([](const Config& config) { return config["o"].json(); })}}) ==
        Lines{R"({"f":"k","n":0,"o":"k","s":{"x":3.0}})",
              R"({"f":"k","n":1,"o":"k","s":{"x":3.0}})", R"({"f":"l","o":"l","s":{"x":3.0}})"});
}

TEST_CASE("SE-08: each of 9 points once, then the search ends by itself", "[SE-08]") {
  const SearchSpace space = {{"a", randint(0, 3)}, {"b", choice({"x", "y", "z"})}};
  const Lines lines = run(space);
  CHECK(lines.size() == 9);
  CHECK(std::set<std::string>(lines.begin(), lines.end()).size() == 9);

  engine::SuggestionSource source(space, {}, grid());
  (void)suggest_all(source, 5);
  source.on_trial_failed(TrialId(4), Config(), false);  // a failed point does not come again
  CHECK(suggest_all(source, 100, 5).size() == 4);
  CHECK(std::holds_alternative<Exhausted>(source.suggest(TrialId(9))));
}

TEST_CASE("grid repeats for num_samples, and without a bound is one pass", "[grid]") {
  const SearchSpace space = {{"a", choice({1, 2})}};
  CHECK(run(space, {.num_samples = 2}) ==
        Lines{R"({"a":1})", R"({"a":2})", R"({"a":1})", R"({"a":2})"});
  CHECK(run(space, {.num_samples = -1}) == Lines{R"({"a":1})", R"({"a":2})"});
}

TEST_CASE("points to evaluate take the place of their configurations", "[grid]") {
  CHECK(run({{"a", choice({1, 2})}, {"b", choice({3, 4})}},
            {.points_to_evaluate = {{{"a", 2}, {"b", 3}}, {{"b", 4}}}}) ==
        Lines{R"({"a":2,"b":3})", R"({"a":1,"b":4})", R"({"a":1,"b":3})", R"({"a":2,"b":4})"});
}

TEST_CASE("SS-16: grid refuses what it cannot enumerate, by name", "[SS-16]") {
  const auto make = [](const Domain& domain) {
    engine::SuggestionSource source({{"k", choice({1, 2})}, {"s", {{"z", domain}}}}, {}, grid());
  };
  CHECK_THROWS_AS(make(normal(0, 1)), std::invalid_argument);
  CHECK_THROWS_WITH(
      make(normal(0, 1)),
      R"(searcher grid: parameter "s/z" is normal(0, 1), which has no end of values; )"
      "grid takes domains that can be counted, such as choice, randint and quniform");
  CHECK_THROWS_WITH(make(uniform(0, 1)), Catch::Contains(R"(parameter "s/z" is uniform(0, 1))"));
  CHECK_THROWS_WITH(make(qnormal(0, 1, 1)), Catch::Contains("qnormal(0, 1, 1)"));
}

TEST_CASE("grid needs no metric and has no options", "[grid]") {
  const auto searcher = grid();
  CHECK(searcher->enumerates());
  CHECK_FALSE(searcher->needs_metric());
  CHECK_FALSE(searcher->wants_results());
  CHECK(searcher->options() == Json{{"name", "grid"}});
}

}  // namespace
}  // namespace tune
