#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/searchers/random.hpp>

#include "engine/suggestion_source.hpp"
#include "support/scripted_searcher.hpp"
#include "support/suggestions.hpp"

namespace tune::engine {
namespace {

using test::distinct;
using test::dumped;
using test::scripted;
using test::stubborn;
using test::suggest_all;
using Lines = std::vector<std::string>;

TEST_CASE("a duplicate is asked for again with the next attempt", "[suggestion_source]") {
  Lines log;
  const auto answer = [](const SuggestionRequest& request) {
    return Config(Json{{"x", request.attempt < 3 ? 0.5 : 0.1 * double(request.trial.value())}});
  };
  SuggestionSource source({{"x", uniform(0, 1)}}, {.num_samples = 2}, scripted(answer, &log));
  CHECK(dumped(suggest_all(source)) == Lines{R"({"x":0.5})", R"({"x":0.1})"});
  CHECK(log ==
        Lines{"setup -", "ask 0.0 {}", "ask 1.0 {}", "ask 1.1 {}", "ask 1.2 {}", "ask 1.3 {}"});
}

TEST_CASE("duplicates are kept if they may be", "[suggestion_source]") {
  SuggestionSource source({{"n", randint(0, 9)}}, {.num_samples = 4, .avoid_duplicates = false},
                          stubborn({{"n", 3}}));
  CHECK(distinct(suggest_all(source)).size() == 1);
}

TEST_CASE("a discrete space that is used up ends the search", "[suggestion_source]") {
  const SearchSpace space = {{"n", randint(0, 3)},
                             {"o", branch({{"k", {{"b", choice({1, 2})}}}, {"l", {}}})}};
  SuggestionSource source(space, {.num_samples = -1}, random_search());
  const std::vector<Config> configs = suggest_all(source);
  CHECK(configs.size() == 9);
  CHECK(distinct(configs).size() == 9);
  CHECK(std::holds_alternative<Exhausted>(source.suggest(TrialId(9))));
}

TEST_CASE("types tell configurations apart", "[suggestion_source]") {
  SuggestionSource source({{"n", choice({1, 1.0, true, "1", nullptr, 0.0, -0.0})}},
                          {.num_samples = 100}, random_search());
  CHECK(distinct(suggest_all(source)).size() == 7);
}

TEST_CASE("a cell that is used up is passed over, the others go on", "[suggestion_source]") {
  // Cell 1 has two configurations, cell 2 has any number.
  SuggestionSource source({{"a", branch({{1, {{"g", grid_search({0})}, {"n", randint(0, 2)}}},
                                         {2, {{"x", uniform(0, 1)}}}})}},
                          {.num_samples = 5}, random_search());
  CHECK(source.total() == 10);
  Lines cells;
  for (const Config& config : suggest_all(source)) cells.push_back(config["a"].json().dump());
  CHECK(cells == Lines{"1", "2", "1", "2", "2", "2", "2"});
}

TEST_CASE("the last free configurations are found though the searcher repeats itself",
          "[suggestion_source]") {
  Lines log;
  SuggestionSource source({{"n", randint(0, 5)}}, {.seed = 1, .num_samples = -1},
                          stubborn({{"n", 3}}, &log));
  const std::vector<Config> configs = suggest_all(source);
  CHECK(configs.front()["n"].get<int>() == 3);
  CHECK(distinct(configs).size() == 5);
  CHECK(configs.size() == 5);
  CHECK(log[2] == "ask 1.0 {}");
  CHECK(log[102] == "ask 1.100 {}");
  CHECK(log[103] == "ask 2.0 {}");
  // Which one is picked depends on the seed.
  std::set<int> second;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SuggestionSource other({{"n", randint(0, 5)}}, {.seed = seed, .num_samples = 2},
                           stubborn({{"n", 3}}));
    second.insert(suggest_all(other).at(1)["n"].get<int>());
  }
  CHECK(second == std::set<int>{0, 1, 2, 4});
}

TEST_CASE("where nothing can be listed a duplicate is taken in the end", "[suggestion_source]") {
  Lines log;
  SuggestionSource source({{"x", uniform(0, 1)}}, {.num_samples = 2}, stubborn({{"x", 0.5}}, &log));
  CHECK(suggest_all(source).size() == 2);
  CHECK(log.back() == "ask 1.1000 {}");
}

TEST_CASE("points count as seen, and run even if they repeat", "[suggestion_source]") {
  SuggestionSource source({{"n", randint(0, 3)}},
                          {.num_samples = 10, .points_to_evaluate = {{{"n", 1}}, {{"n", 1}}}},
                          random_search());
  const std::vector<Config> configs = suggest_all(source);
  CHECK(configs.size() == 4);
  CHECK(configs[1]["n"].get<int>() == 1);
  CHECK(distinct(configs).size() == 3);

  // A partial point runs even if all that it leaves open was there.
  SuggestionSource partial(
      {{"n", randint(0, 2)}, {"m", randint(0, 2)}},
      {.num_samples = 9, .points_to_evaluate = {{{"n", 1}}, {{"n", 1}}, {{"n", 1}}}},
      random_search());
  const std::vector<Config> all = suggest_all(partial);
  CHECK(all.size() == 5);
  CHECK(distinct(all).size() == 4);
}

TEST_CASE("equal draws are no duplicates where a function adds chance", "[suggestion_source]") {
  const auto noise = [](const Config&, Random& random) { return Json(random.uniform()); };
  const SearchSpace space = {{"n", choice({1, 2})}, {"f", sample_from(noise)}};
  SuggestionSource source(space, {.num_samples = 20}, random_search());
  CHECK(distinct(suggest_all(source)).size() == 20);
  // A function without chance gives no new configuration.
  const auto twice = [](const Config& config) { return Json(2 * config["n"].get<int>()); };
  SuggestionSource fixed({{"n", choice({1, 2})}, {"f", sample_from(twice)}}, {.num_samples = 20},
                         random_search());
  CHECK(suggest_all(fixed).size() == 2);
}

}  // namespace
}  // namespace tune::engine
