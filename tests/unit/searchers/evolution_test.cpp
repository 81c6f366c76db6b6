#include <tune/searchers/evolution.hpp>

#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/search_space.hpp>

#include "searcher_rig.hpp"

namespace tune::test {
namespace {

// One that repeats a trial would be changed further.
engine::SuggestionOptions with_duplicates() {
  return {.seed = 1, .num_samples = -1, .avoid_duplicates = false};
}

constexpr EvolutionOptions small = {.population_size = 10, .sample_size = 4};

SearchSpace bits(int count) {
  SearchSpace space;
  for (int i = 0; i < count; ++i) space.add("b" + std::to_string(i), choice({0, 1}));
  return space;
}

double zeros(const Config& config) {
  double sum = 0;
  for (const auto& [name, value] : config.json().items()) sum += value.get<int>() == 0 ? 1 : 0;
  return sum;
}

// How many of the parameters have other values.
int differences(const Config& a, const Config& b) {
  int count = 0;
  for (const auto& [name, value] : a.json().items()) {
    count += is_identical(value, b.json().at(name)) ? 0 : 1;
  }
  return count;
}

TEST_CASE("algorithm 1: a child differs from the best of the sample in one parameter",
          "[evolution]") {
  // With a sample of the whole population, or nearly so, the best is the parent.
  SearcherRig rig(bits(20), evolution({.population_size = 10, .sample_size = 10}),
                  with_duplicates());
  for (std::size_t i = 0; i < 10; ++i) {
    REQUIRE(rig.ask());
    rig.complete(i, i == 3 ? 0 : 1);
  }
  int of_the_best = 0;
  for (int i = 0; i < 40; ++i) {
    REQUIRE(rig.ask());
    int nearest = 20;
    for (std::size_t parent = 0; parent < 10; ++parent) {
      nearest = std::min(nearest, differences(rig.configs().back(), rig.configs()[parent]));
    }
    CHECK(nearest == 1);
    of_the_best += differences(rig.configs().back(), rig.configs()[3]) == 1 ? 1 : 0;
  }
  CHECK(of_the_best > 15);  // a best one is drawn with 1 - 0.9^10 = 0.65
}

TEST_CASE("algorithm 1: the oldest member leaves, however good it is", "[evolution]") {
  SearcherRig rig(bits(30), evolution({.population_size = 5, .sample_size = 5}));
  for (std::size_t i = 0; i < 5; ++i) {
    REQUIRE(rig.ask());
    rig.complete(i, i == 0 ? -100 : 1);
  }
  for (std::size_t i = 5; i < 10; ++i) {
    REQUIRE(rig.ask());
    rig.complete(i, 1);
  }
  const Json state = rig.source().save().at("searcher");
  REQUIRE(state.at("population").size() == 5);
  for (const Json& member : state.at("population")) CHECK(member.at(1).at(2) == 1.0);
}

TEST_CASE("evolution climbs where random draws do not", "[evolution]") {
  SearcherRig rig(bits(30), evolution(small));
  rig.run(400, zeros);
  CHECK(rig.best(zeros) <= 2);
  // Several at once, and one that never ends.
  SearcherRig parallel(bits(30), evolution(small));
  REQUIRE(parallel.ask());
  parallel.run(400, zeros, 8);
  CHECK(parallel.best(zeros) <= 5);
}

TEST_CASE("a changed number is another one near its parent's, inside the domain", "[evolution]") {
  const SearchSpace space = {
      {"x", loguniform(1e-4, 1)}, {"n", randint(0, 3)}, {"o", ordinal({"s", "m", "l"})}};
  SearcherRig rig(space, evolution({.population_size = 2, .sample_size = 1}));
  rig.run(300, [](const Config& config) { return config["x"].get<double>(); });
  REQUIRE(rig.configs().size() == 300);
  std::set<std::string> seen;
  for (const Config& config : rig.configs()) {
    seen.insert(config["n"].json().dump() + config["o"].json().dump());
    CHECK((config["x"].get<double>() >= 1e-4 && config["x"].get<double>() < 1));
  }
  CHECK(seen.size() == 9);
}

TEST_CASE("a changed branch draws what is below it anew and keeps the rest", "[evolution]") {
  const SearchSpace space = {{"opt", branch({{"a", {{"p", uniform(0, 1)}, {"r", uniform(0, 1)}}},
                                             {"b", {{"q", uniform(0, 1)}}}})},
                             {"x", uniform(0, 1)},
                             {"y", uniform(0, 1)}};
  SearcherRig rig(space, evolution({.population_size = 2, .sample_size = 2}));
  const auto loss = [](const Config&) { return 0.0; };
  rig.run(200, loss);
  int changed = 0;
  for (std::size_t i = 2; i < 200; ++i) {
    const Config& child = rig.configs()[i];
    CHECK(child.contains("q") == (child["opt"].get<std::string>() == "b"));
    CHECK(child.contains("p") == !child.contains("q"));
    for (std::size_t parent = i - 2; parent < i; ++parent) {
      const Config& from = rig.configs()[parent];
      if (from["opt"].json() == child["opt"].json()) continue;
      const bool is_child = from["x"].get<double>() == child["x"].get<double>() &&
                            from["y"].get<double>() == child["y"].get<double>();
      changed += is_child ? 1 : 0;
    }
  }
  CHECK(changed > 10);
}

TEST_CASE("what failed or is not finite is no parent while others are there", "[evolution]") {
  SearcherRig rig(bits(40), evolution({.population_size = 6, .sample_size = 6}), with_duplicates());
  for (std::size_t i = 0; i < 6; ++i) {
    REQUIRE(rig.ask());
    if (i < 3) {
      rig.fail(i, i == 0);
    } else {
      rig.complete(i, i == 3 ? std::numeric_limits<double>::quiet_NaN() : double(i));
    }
  }
  CHECK(rig.source().save().at("searcher").at("population").size() == 3);
  for (int i = 0; i < 30; ++i) {
    REQUIRE(rig.ask());
    int nearest = 40;
    for (std::size_t parent = 3; parent < 6; ++parent) {
      nearest = std::min(nearest, differences(rig.configs().back(), rig.configs()[parent]));
    }
    CHECK(nearest == 1);
  }
}

TEST_CASE("a child that a constraint refuses is drawn again, with no more changes", "[evolution]") {
  SearchSpace space = bits(20);
  space.require("b0 is 1", [](const Config& config) { return config["b0"].get<int>() == 1; });
  SearcherRig rig(space, evolution({.population_size = 4, .sample_size = 1}), with_duplicates());
  rig.run(200, [](const Config&) { return 0.0; });
  REQUIRE(rig.configs().size() == 200);
  for (std::size_t i = 4; i < 200; ++i) {
    int nearest = 20;
    for (std::size_t parent = i - 4; parent < i; ++parent) {
      nearest = std::min(nearest, differences(rig.configs()[i], rig.configs()[parent]));
    }
    CHECK(nearest <= 1);  // 0: changed back
    CHECK(rig.configs()[i]["b0"].get<int>() == 1);
  }
}

TEST_CASE("resumed, evolution goes on as it would have", "[evolution]") {
  const SearchSpace space = {{"x", uniform(0, 1)}, {"k", choice({1, 2.5, "a"})}};
  const auto loss = [](const Config& config) { return config["x"].get<double>(); };
  for (const std::size_t before : {0, 5, 25}) {
    SearcherRig whole(space, evolution(small));
    whole.run(before, loss);
    SearcherRig restored(space, evolution(small));
    restored.restore(whole);
    whole.run(20, loss);
    restored.run(20, loss);
    CHECK(restored.configs() == whole.configs());
  }
}

TEST_CASE("evolution refuses options out of range", "[evolution]") {
  CHECK_THROWS_WITH(evolution({.population_size = 1}),
                    "evolution: population_size must be at least 2, is 1");
  CHECK_THROWS_AS(evolution({.population_size = 5, .sample_size = 6}), std::invalid_argument);
  CHECK_THROWS_AS(evolution({.mutations = 0}), std::invalid_argument);
  CHECK_THROWS_AS(evolution({.mutation_scale = 0}), std::invalid_argument);
}

TEST_CASE("SS-07, SS-09, SS-12: evolution keeps bounds and types", "[SS-07][SS-09][SS-12]") {
  SearcherRig rig(
      {{"n", randint(0, 10)}, {"one", randint(1, 2)}, {"m", choice({1, 1.0, true, "1"})}},
      evolution(small), with_duplicates());
  rig.run(500, [](const Config& config) { return -config["n"].get<double>(); });
  std::set<std::string> mixed;
  for (const Config& config : rig.configs()) {
    REQUIRE((config["n"].get<int>() >= 0 && config["n"].get<int>() <= 9));
    REQUIRE(config["one"].get<int>() == 1);
    mixed.insert(config["m"].json().dump());
  }
  CHECK(mixed == std::set<std::string>{"1", "1.0", "true", "\"1\""});
}

}  // namespace
}  // namespace tune::test
