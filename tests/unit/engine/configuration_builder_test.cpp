#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/searchers/random.hpp>

#include "engine/suggestion_source.hpp"
#include "support/limits.hpp"
#include "support/scripted_searcher.hpp"
#include "support/suggestions.hpp"

namespace tune::engine {
namespace {

using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;
using test::dumped;
using test::stubborn;
using test::suggest_all;
using Lines = std::vector<std::string>;

// What the error says when `answer` meets `space`; empty if it is taken.
std::string complaint(const SearchSpace& space, Json answer) {
  SuggestionSource source(space, {}, stubborn(std::move(answer)));
  try {
    (void)source.suggest(TrialId(0));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("functions see what stands before them, and only active ones run",
          "[suggestion_source]") {
  Lines seen;
  const auto keys = [&seen](const Config& config) {
    seen.push_back(config.dump());
    return Json(seen.size());
  };
  SuggestionSource source(
      {{"z", 1},
       {"f", sample_from(keys)},
       {"a", choice({5})},
       {"o", branch({{"on", {{"g", sample_from(keys)}}}, {"off", {{"h", sample_from(keys)}}}})},
       {"later", 2}},
      {.points_to_evaluate = {{{"o", "on"}}}}, random_search());
  CHECK(dumped(suggest_all(source)) == Lines{R"({"a":5,"f":1,"g":2,"later":2,"o":"on","z":1})"});
  CHECK(seen == Lines{R"({"z":1})", R"({"a":5,"f":1,"o":"on","z":1})"});
}

TEST_CASE("a function's chance is keyed by seed, path and trial", "[suggestion_source]") {
  const auto noise = [](const Config&, Random& random) { return Json(random.uniform()); };
  const SearchSpace space = {{"s", {{"f", sample_from(noise)}}}, {"g", sample_from(noise)}};
  SuggestionSource source(space, {.seed = 3, .num_samples = 2}, random_search());
  const std::vector<Config> configs = suggest_all(source);
  for (std::uint64_t trial : {0, 1}) {
    CHECK(configs[trial]["s"]["f"].get<double>() == Random(3, "sample_from/s/f", trial).uniform());
    CHECK(configs[trial]["g"].get<double>() == Random(3, "sample_from/g", trial).uniform());
  }
}

TEST_CASE("a function that throws is named", "[suggestion_source]") {
  SuggestionSource source(
      {{"f", sample_from([](const Config& config) { return config["missing"].json(); })}}, {},
      random_search());
  CHECK_THROWS_WITH(
      source.suggest(TrialId(0)),
      StartsWith(R"(parameter "f": its sample_from function failed: )") && Contains("missing"));
}

TEST_CASE("what a function gives is checked as constants are", "[suggestion_source]") {
  const auto complaint_of = [](const std::function<Json()>& function) {
    return complaint({{"s", {{"f", sample_from([=](const Config&) { return function(); })}}}},
                     Json::object());
  };
  const std::string failed = R"(parameter "s/f": its sample_from function failed: )";
  CHECK(complaint_of([] { return Json({1, "two", {{"three", nullptr}}}); }).empty());
  CHECK(complaint_of([] { return test::nan; }) == failed + "the value is nan, must be finite");
  CHECK(complaint_of([] {
          return Json({{"a", {1.0, -test::inf}}});
        }) == failed + "the value is -inf, must be finite");
  CHECK_THAT(complaint_of([] {
               return Json({{{"a", "\xff"}}});
             }),
             StartsWith(failed + "the text ") && EndsWith(" is not valid UTF-8"));
  CHECK_THAT(complaint_of([] { return Json({{"\xff", 1}}); }), EndsWith(" is not valid UTF-8"));
  CHECK(complaint_of([]() -> Json { throw 3; }) == failed + "unknown exception");
}

TEST_CASE("a searcher's answer is checked", "[suggestion_source]") {
  const SearchSpace space = {
      {"n", randint(0, 5)},
      {"s", {{"x", quniform(0, 1, 0.1)}}},
      {"o", branch({{"k", {{"y", uniform(0, 1)}}}, {"l", {{"z", choice({1, 2})}}}})}};
  const Json good = {{"n", 3}, {"s", {{"x", 0.5}}}, {"o", "l"}, {"z", 2}};
  CHECK(complaint(space, good).empty());
  CHECK(complaint(space, {{"n", 3}, {"s/x", 0.5}, {"o", "l"}, {"z", 2}}).empty());

  Json bad = good;
  bad.erase("n");
  CHECK(complaint(space, bad) ==
        R"(searcher scripted gave no value for parameter "n", which is randint(0, 5))");
  bad = good;
  bad["n"] = 5;
  CHECK(
      complaint(space, bad) ==
      R"(searcher scripted gave parameter "n" the value 5 (an integer), must be in randint(0, 5))");
  bad["n"] = 3.0;
  CHECK_THAT(complaint(space, bad), Contains("the value 3 (a double)"));
  bad = good;
  bad["s"]["x"] = 0.55;
  CHECK_THAT(complaint(space, bad), Contains(R"(gave parameter "s/x" the value 0.55)"));
  bad = good;
  bad["o"] = "k";
  CHECK_THAT(complaint(space, bad), Contains(R"(gave no value for parameter "y")"));
  bad = good;
  bad["s"]["unknown"] = 1;
  CHECK_THAT(complaint(space, bad),
             Contains(R"(gave parameter "s/unknown", which is not in the search space)"));
}

TEST_CASE("what the searcher adds for inactive and fixed parameters is left out",
          "[suggestion_source]") {
  SuggestionSource source({{"g", grid_search({7})},
                           {"c", 1},
                           {"o", branch({{"k", {{"y", uniform(0, 1)}}}, {"l", {}}})}},
                          {}, stubborn({{"g", 8}, {"c", 2}, {"o", "l"}, {"y", 0.5}}));
  CHECK(dumped(suggest_all(source)) == Lines{R"({"c":1,"g":7,"o":"l"})"});
}

TEST_CASE("names that hold '/' stay as they are written", "[suggestion_source]") {
  SuggestionSource source({{"a/b", choice({1})}, {"s", {{"c/d", choice({2})}}}},
                          {.num_samples = 2, .points_to_evaluate = {{{"a", {{"b", 1}}}}}},
                          random_search());
  CHECK(dumped(suggest_all(source)) ==
        Lines{R"({"a/b":1,"s":{"c/d":2}})", R"({"a/b":1,"s":{"c/d":2}})"});
}

}  // namespace
}  // namespace tune::engine
