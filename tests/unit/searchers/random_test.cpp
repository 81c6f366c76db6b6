#include <tune/searchers/random.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/suggestion_source.hpp"
#include "support/suggestions.hpp"

namespace tune {
namespace {

using test::suggest_all;

// `count` configurations, repetitions allowed.
std::vector<Config> draws(const SearchSpace& space, std::int64_t count, std::uint64_t seed = 1) {
  engine::SuggestionSource source(
      space, {.seed = seed, .num_samples = count, .avoid_duplicates = false}, random_search());
  return suggest_all(source, static_cast<std::uint64_t>(count));
}

// The values of parameter "x" in `count` draws.
std::vector<Json> draws_of(const Domain& domain, std::int64_t count) {
  std::vector<Json> values;
  for (const Config& config : draws({{"x", domain}}, count)) {
    values.push_back(config["x"].json());
  }
  return values;
}

TEST_CASE("SS-02: a log domain below 1 is uniform in its logarithm", "[SS-02]") {
  const std::vector<Json> values = draws_of(loguniform(1e-7, 1e-2), 10'000);
  REQUIRE(values.size() == 10'000);
  int below = 0;
  for (const Json& value : values) {
    const auto number = value.get<double>();
    CHECK((number >= 1e-7 && number < 1e-2));
    below += number < 3.162e-5 ? 1 : 0;
  }
  CHECK((below >= 4700 && below <= 5300));
}

TEST_CASE("SS-04: single points are bit-identical, and the rest still varies", "[SS-04]") {
  engine::SuggestionSource source({{"a", uniform(1, 1)},
                                   {"b", loguniform(2, 2)},
                                   {"c", quniform(3, 3, 1)},
                                   {"d", choice({"only"})},
                                   {"x", uniform(0, 1)}},
                                  {.num_samples = 40}, random_search());
  const std::vector<Config> configs = suggest_all(source);
  REQUIRE(configs.size() == 40);
  std::set<double> free;
  for (const Config& config : configs) {
    CHECK(is_identical(config["a"].json(), 1.0));
    CHECK(is_identical(config["b"].json(), 2.0));
    CHECK(config["c"].json() == 3);
    CHECK(config["d"].json() == "only");
    free.insert(config["x"].get<double>());
  }
  CHECK(free.size() == 40);
}

TEST_CASE("SS-05: quantised sampling is uniform over the grid points", "[SS-05]") {
  std::map<double, int> counts;
  for (const Json& value : draws_of(quniform(32, 96, 32), 30'000)) ++counts[value.get<double>()];
  REQUIRE(counts.size() == 3);
  for (const double point : {32, 64, 96}) {
    CHECK((counts[point] >= 9600 && counts[point] <= 10'400));
  }
  for (const Json& value : draws_of(qrandint(1, 4, 3), 100)) CHECK(is_identical(value, 3));
}

TEST_CASE("SS-06: a step of exactly 1 still quantises", "[SS-06]") {
  std::set<std::string> distinct;
  for (const Json& value : draws_of(quniform(-10, 10, 1), 20'000)) {
    const auto number = value.get<double>();
    CHECK(number == std::int64_t(number));
    distinct.insert(value.dump());
  }
  CHECK(distinct.size() == 21);
  CHECK(distinct.contains("-10.0"));
  CHECK(distinct.contains("10.0"));
  CHECK(distinct.contains("0.0"));
}

TEST_CASE("SS-07: the upper bound of integers is excluded", "[SS-07]") {
  std::set<int> seen;
  for (const Json& value : draws_of(randint(0, 10), 500)) seen.insert(value.get<int>());
  CHECK(seen == std::set<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  for (const Json& value : draws_of(randint(1, 2), 100)) CHECK(is_identical(value, 1));
}

TEST_CASE("SS-08: an integer log range gives integers, half of them below its middle", "[SS-08]") {
  int small = 0;
  for (const Json& value : draws_of(lograndint(1, 1024), 10'000)) {
    REQUIRE(value.is_number_integer());
    CHECK((value >= 1 && value <= 1023));
    small += value <= 31 ? 1 : 0;
  }
  CHECK((small >= 4500 && small <= 5500));
}

TEST_CASE("SS-09: options that look equal keep their types", "[SS-09]") {
  std::map<std::string, int> counts;
  for (const Json& value : draws_of(choice({1, 1.0, true, "1"}), 400)) {
    ++counts[std::string(value.type_name()) + (value.is_number_float() ? " double" : "")];
    // As stored and read again.
    CHECK(is_identical(Json::parse(value.dump()), value));
  }
  CHECK(counts.size() == 4);
  CHECK(counts.contains("number"));
  CHECK(counts.contains("number double"));
  CHECK(counts.contains("boolean"));
  CHECK(counts.contains("string"));
}

TEST_CASE("SS-11: configurations hold the options themselves, not their indices", "[SS-11]") {
  std::set<std::string> seen;
  for (const Config& config : draws({{"units", choice({200, 512, 1000})}}, 12)) {
    seen.insert(config.dump());
  }
  CHECK(seen == std::set<std::string>{R"({"units":1000})", R"({"units":200})", R"({"units":512})"});
}

TEST_CASE("SS-12: integers stay integers", "[SS-12]") {
  std::set<std::string> seen;
  for (const Config& config : draws({{"depth", randint(3, 8)}, {"n", qrandint(10, 40, 10)}}, 200)) {
    const auto depth = config["depth"].get<int>();
    const auto n = config["n"].get<std::int64_t>();
    CHECK((depth >= 3 && depth < 8));
    CHECK((n >= 10 && n <= 40 && n % 10 == 0));
    CHECK(config.dump() ==
          "{\"depth\":" + std::to_string(depth) + ",\"n\":" + std::to_string(n) + "}");
    seen.insert(config.dump());
  }
  CHECK(seen.size() == 5 * 4);
}

TEST_CASE("SS-16: random search supports every domain", "[SS-16]") {
  for (const Config& config : draws({{"z", normal(0, 1)},
                                     {"x", uniform(0, 1)},
                                     {"q", qnormal(0, 2, 0.5)},
                                     {"l", qloguniform(1, 9, 2)},
                                     {"o", ordinal({"s", "m", "l"})}},
                                    50)) {
    CHECK(config["z"].json().is_number_float());
    CHECK(config.json().size() == 5);
  }
}

TEST_CASE("SE-02: a trial's configuration depends on seed and number alone", "[SE-02]") {
  const SearchSpace space = {{"lr", loguniform(1e-4, 1e-1)},
                             {"n", randint(0, 1000)},
                             {"o", branch({{"a", {{"m", uniform(0, 1)}}}, {"b", {}}})}};
  // Results in the order of one slot, and of eight with the last one first.
  const auto run = [&space](std::uint64_t seed, std::uint64_t slots) {
    engine::SuggestionSource source(space, {.seed = seed, .num_samples = 50}, random_search());
    std::vector<Config> configs;
    while (true) {
      const std::vector<Config> batch = suggest_all(source, slots, configs.size());
      if (batch.empty()) return configs;
      for (std::size_t i = batch.size(); i-- > 0;) {
        source.on_trial_completed(TrialId(configs.size() + i), batch[i], Result(double(i)));
      }
      configs.insert(configs.end(), batch.begin(), batch.end());
    }
  };
  const std::vector<Config> one_slot = run(42, 1);
  REQUIRE(one_slot.size() == 50);
  CHECK(one_slot == run(42, 8));
  const std::vector<Config> other = run(43, 8);
  CHECK_FALSE(one_slot == other);
  CHECK_FALSE(one_slot[0] == other[0]);
}

TEST_CASE("a further parameter does not change the others", "[random_search]") {
  const std::vector<Config> small = draws({{"x", uniform(0, 1)}}, 10);
  const std::vector<Config> large =
      draws({{"y", randint(0, 5)}, {"x", uniform(0, 1)}, {"z", uniform(0, 1)}}, 10);
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(small[i]["x"].get<double>() == large[i]["x"].get<double>());
    CHECK(small[i]["x"].get<double>() == Random(1, "search/x", i, 0).uniform());
    CHECK(large[i]["z"].get<double>() != large[i]["x"].get<double>());
  }
}

TEST_CASE("random search fills in what is not fixed", "[random_search]") {
  const SearchSpace space = {
      {"o", branch({{"a", {{"m", uniform(0, 1)}}}, {"b", {{"k", uniform(0, 1)}}}})},
      {"s", {{"x", uniform(0, 1)}, {"c", 3}}}};
  const auto searcher = random_search();
  searcher->setup({.space = &space, .objective = {}, .seed = 1});
  const Suggestion suggestion = searcher->suggest(
      {.trial = TrialId(0), .fixed = Config(Json{{"o", "b"}}), .attempt = 0, .random = Random(0)});
  const Config config = std::get<Config>(suggestion);
  CHECK(config["o"].get<std::string>() == "b");
  CHECK(config.contains("k"));
  CHECK_FALSE(config.contains("m"));
  CHECK(config["s"].json().size() == 1);
  CHECK(searcher->options() == Json{{"name", "random"}});
  CHECK_FALSE(searcher->needs_metric());
  CHECK_FALSE(searcher->wants_results());
}

}  // namespace
}  // namespace tune
