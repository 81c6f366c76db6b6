#include "engine/turn_plan.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/searchers/grid.hpp>
#include <tune/searchers/random.hpp>

#include "engine/suggestion_source.hpp"
#include "support/scripted_searcher.hpp"
#include "support/suggestions.hpp"

namespace tune::engine {
namespace {

using test::distinct;
using test::dumped;
using test::stubborn;
using test::suggest_all;
using Lines = std::vector<std::string>;

const SearchSpace& conditional_grid() {
  static const SearchSpace space = {
      {"a", branch({{1, {{"b", grid_search({8, 9})}}}, {2, {{"b", grid_search({6, 7})}}}})}};
  return space;
}

TEST_CASE("SS-13: a conditional grid gives exactly the valid cells", "[SS-13]") {
  SuggestionSource source(conditional_grid(), {}, random_search());
  CHECK(source.total() == 4);
  CHECK(dumped(suggest_all(source)) ==
        Lines{R"({"a":1,"b":8})", R"({"a":1,"b":9})", R"({"a":2,"b":6})", R"({"a":2,"b":7})"});

  // What only one of the branches has is absent from the other.
  SuggestionSource uneven({{"a", branch({{1, {{"b", grid_search({8, 9})}}}, {2, {{"c", 5}}}})}}, {},
                          random_search());
  CHECK(dumped(suggest_all(uneven)) ==
        Lines{R"({"a":1,"b":8})", R"({"a":1,"b":9})", R"({"a":2,"c":5})"});
}

TEST_CASE("SE-07: points to evaluate come first, once, and count", "[SE-07]") {
  for (const bool is_grid : {false, true}) {
    SuggestionSource source(
        {{"a", randint(0, is_grid ? 5 : 100)}},
        {.num_samples = is_grid ? 1 : 5, .points_to_evaluate = {{{"a", 1}}, {{"a", 2}}}},
        is_grid ? grid() : random_search());
    CHECK(source.total() == 5);
    const std::vector<Config> configs = suggest_all(source);
    REQUIRE(configs.size() == 5);
    CHECK(configs[0]["a"].get<int>() == 1);
    CHECK(configs[1]["a"].get<int>() == 2);
    CHECK(distinct(configs).size() == 5);
  }
}

TEST_CASE("SE-07: a search that goes on after 3 trials does not run its points again", "[SE-07]") {
  for (const bool is_grid : {false, true}) {
    const auto make = [is_grid] {
      return SuggestionSource(
          {{"a", randint(0, is_grid ? 5 : 100)}},
          {.num_samples = is_grid ? 1 : 5, .points_to_evaluate = {{{"a", 1}}, {{"a", 2}}}},
          is_grid ? grid() : random_search());
    };
    SuggestionSource whole = make();
    const std::vector<Config> expected = suggest_all(whole);
    // Four slots: the first four are asked for before any has ended. Three end, then it breaks off.
    SuggestionSource first = make();
    std::vector<Config> configs = suggest_all(first, 4);
    for (const std::size_t i : {2, 0, 1}) {
      first.on_trial_completed(TrialId(i), configs[i], Result(0.5));
    }
    SuggestionSource second = make();
    second.restore(Json::parse(first.save().dump()));
    for (Config& config : suggest_all(second, 100, 4)) configs.push_back(std::move(config));
    CHECK(configs == expected);
    CHECK(configs.size() == 5);
    CHECK(distinct(configs).size() == 5);
  }
}

TEST_CASE("a point may be partial: the searcher and the grid fill the rest",
          "[suggestion_source]") {
  Lines log;
  SuggestionSource source(
      {{"g", grid_search({1, 2})}, {"x", uniform(0, 1)}, {"n", randint(0, 9)}},
      {.num_samples = 2, .points_to_evaluate = {{{"n", 4}}, {{"x", 0.5}, {"g", 2}, {"n", 7}}}},
      stubborn({{"x", 0.25}, {"n", 3}}, &log));
  CHECK(dumped(suggest_all(source)) ==
        Lines{R"({"g":1,"n":4,"x":0.25})", R"({"g":2,"n":7,"x":0.5})", R"({"g":1,"n":3,"x":0.25})",
              R"({"g":2,"n":3,"x":0.25})"});
  // The searcher is not asked for a point that leaves nothing open.
  CHECK(log ==
        Lines{"setup -", R"(ask 0.0 {"g":1,"n":4})", R"(ask 2.0 {"g":1})", R"(ask 3.0 {"g":2})"});
}

TEST_CASE("a point takes the turn of its cell", "[suggestion_source]") {
  SuggestionSource source(
      {{"g", grid_search({1, 2, 3})}, {"h", grid_search({0, 1})}},
      {.points_to_evaluate = {{{"g", 2}, {"h", 1}}, {{"h", 1}}, {{"g", 2}}, {{"h", 1}}}},
      random_search());
  CHECK(dumped(suggest_all(source)) == Lines{R"({"g":2,"h":1})", R"({"g":1,"h":1})",
                                             R"({"g":2,"h":0})", R"({"g":3,"h":1})",
                                             R"({"g":1,"h":0})", R"({"g":3,"h":0})"});
}

TEST_CASE("each turn is looked at once for the points of one kind", "[turn_plan]") {
  const std::uint64_t points = 4000;
  const auto cost = [points](const SearchSpace& space, std::uint64_t samples,
                             const std::vector<Json>& kinds) {
    TurnPlan plan(space, core::Enumeration::Axes::grid, samples);
    std::set<std::uint64_t> turns;
    for (std::uint64_t i = 0; i < points; ++i) {
      const std::optional<std::uint64_t> turn = plan.take(kinds[i % kinds.size()]);
      REQUIRE(turn);
      turns.insert(*turn);
    }
    CHECK(turns.size() == points);
    return plan.turns_looked_at();
  };
  CHECK(cost({{"x", uniform(0, 1)}}, points, {Json::object()}) == points);
  std::vector<Json> options;
  for (int i = 0; i < 100; ++i) options.emplace_back(i);
  const SearchSpace grid = {{"g", grid_search(options)}, {"h", grid_search(options)}};
  CHECK(cost(grid, 1, {Json::object()}) == points);
  CHECK(cost(grid, points, {{{"g", 7}, {"h", 3}}}) == points);
  // Points of other kinds may have taken what one of a kind finds.
  CHECK(cost(grid, 100, {{{"g", 7}}, {{"h", 3}}, {{"g", 9}}, Json::object()}) <= 4 * points);
}

TEST_CASE("points of several kinds take the earliest turns that are left", "[turn_plan]") {
  const SearchSpace space = {{"g", grid_search({0, 1})}, {"h", grid_search({0, 1})}};
  TurnPlan plan(space, core::Enumeration::Axes::grid, 2);
  const auto take = [&plan](const Json& point) { return plan.take(point).value_or(99); };
  CHECK(take({{"h", 0}}) == 0);
  CHECK(take({{"g", 0}}) == 1);
  CHECK(take(Json::object()) == 2);
  CHECK(take({{"h", 0}}) == 4);
  CHECK(take({{"g", 0}}) == 5);
  CHECK(take({{"g", 0}}) == 99);
  CHECK(take(Json::object()) == 3);
  CHECK(take({{"g", 1}, {"h", 0}}) == 6);
  CHECK(take(Json::object()) == 7);
  CHECK(take(Json::object()) == 99);
}

TEST_CASE("points take the types of their domains", "[suggestion_source]") {
  SuggestionSource source({{"x", uniform(0, 2)}, {"q", quniform(0, 1, 0.1)}},
                          {.points_to_evaluate = {{{"x", 1}, {"q", 0.1 + 0.2}}}}, random_search());
  CHECK(dumped(suggest_all(source)) == Lines{R"({"q":0.3,"x":1.0})"});
}

TEST_CASE("a whole configuration of an earlier run is a point", "[suggestion_source]") {
  SuggestionSource source(
      {{"a", randint(0, 9)}, {"c", "k"}, {"f", sample_from([](const Config&) { return Json(1); })}},
      {.points_to_evaluate = {{{"a", 4}, {"c", "k"}, {"f", 77}}}}, random_search());
  CHECK(dumped(suggest_all(source)) == Lines{R"({"a":4,"c":"k","f":77})"});
}

TEST_CASE("points outside the space are refused with their index", "[suggestion_source]") {
  const auto make = [](std::vector<Json> points) {
    SuggestionSource source({{"a", randint(0, 5)}, {"g", grid_search({1, 2})}},
                            {.points_to_evaluate = std::move(points)}, random_search());
  };
  CHECK_THROWS_AS(make({{{"a", 1}}, {{"a", 5}}}), std::invalid_argument);
  CHECK_THROWS_WITH(
      make({{{"a", 1}}, {{"a", 5}}}),
      R"(points_to_evaluate[1]: parameter "a" is 5 (an integer), must be in randint(0, 5))");
  CHECK_THROWS_WITH(
      make({{{"b", 1}}}),
      R"(points_to_evaluate[0]: parameter "b" is not in the search space; it has: "a", "g")");
  CHECK_THROWS_WITH(make({{{"g", 1}}, {{"g", 1}}}),
                    R"(points_to_evaluate[1]: {"g":1} has no turn left, since num_samples is 1; )"
                    "it must be at least the number of points that share a grid cell");
}

TEST_CASE("a large grid costs nothing until it is asked for", "[suggestion_source]") {
  SearchSpace space;
  std::vector<Json> options;
  for (int i = 0; i < 1000; ++i) options.emplace_back(i);
  for (const char* name : {"a", "b", "c", "d"}) space.add(name, grid_search(options));
  SuggestionSource source(space, {.points_to_evaluate = {{{"d", 1}}}}, random_search());
  CHECK(source.total() == 1'000'000'000'000);
  CHECK(dumped(suggest_all(source, 3)) == Lines{R"({"a":0,"b":0,"c":0,"d":1})",
                                                R"({"a":0,"b":0,"c":0,"d":0})",
                                                R"({"a":0,"b":0,"c":0,"d":2})"});
}

}  // namespace
}  // namespace tune::engine
