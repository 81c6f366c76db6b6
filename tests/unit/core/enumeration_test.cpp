#include "core/enumeration.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace tune::core {
namespace {

using Lines = std::vector<std::string>;

// All combinations in order; checks that index_of() is the inverse of put().
Lines all_of(const Enumeration& enumeration) {
  Lines lines;
  for (std::uint64_t i = 0; i < enumeration.count().value(); ++i) {
    Json config = Json::object();
    enumeration.put(i, config);
    CHECK(enumeration.index_of(config) == i);
    lines.push_back(config.dump());
  }
  return lines;
}

TEST_CASE("combinations come in lexicographic order, the last parameter fastest", "[enumeration]") {
  const SearchSpace space = {{"b", choice({"x", "y"})}, {"s", {{"a", randint(0, 2)}}}, {"k", 5}};
  CHECK(all_of({space, Enumeration::Axes::all}) ==
        Lines{R"({"b":"x","s":{"a":0}})", R"({"b":"x","s":{"a":1}})", R"({"b":"y","s":{"a":0}})",
              R"({"b":"y","s":{"a":1}})"});
}

TEST_CASE("a branch counts with what each key holds", "[enumeration]") {
  const SearchSpace space = {
      {"a", branch({{1, {{"b", choice({8, 9})}}},
                    {2, {}},
                    {3, {{"c", branch({{"u", {{"d", randint(0, 2)}}}, {"v", {}}})}}}})},
      {"e", choice({0})}};
  CHECK(all_of({space, Enumeration::Axes::all}) ==
        Lines{R"({"a":1,"b":8,"e":0})", R"({"a":1,"b":9,"e":0})", R"({"a":2,"e":0})",
              R"({"a":3,"c":"u","d":0,"e":0})", R"({"a":3,"c":"u","d":1,"e":0})",
              R"({"a":3,"c":"v","e":0})"});
}

TEST_CASE("grid axes are grid_search and the branches that hold it", "[enumeration]") {
  const SearchSpace space = {
      {"a", branch({{1, {{"s", {{"b", grid_search({8, 9})}}}, {"x", uniform(0, 1)}}}, {2, {}}})},
      {"c", branch({{"p", {{"d", choice({1, 2})}}}, {"q", {}}})},
      {"g", grid_search({0, 1})}};
  CHECK(all_of({space, Enumeration::Axes::grid}) ==
        Lines{R"({"a":1,"g":0,"s":{"b":8}})", R"({"a":1,"g":1,"s":{"b":8}})",
              R"({"a":1,"g":0,"s":{"b":9}})", R"({"a":1,"g":1,"s":{"b":9}})", R"({"a":2,"g":0})",
              R"({"a":2,"g":1})"});
  CHECK(Enumeration(space, Enumeration::Axes::all).count() == std::nullopt);
}

TEST_CASE("what is fixed is no axis", "[enumeration]") {
  const SearchSpace space = {
      {"a", branch({{1, {{"b", choice({8, 9})}}}, {2, {{"b", choice({5, 6, 7})}}}})},
      {"c", choice({1, 2})}};
  CHECK(all_of({space, Enumeration::Axes::all, {{"a", 2}, {"c", 1}}}) ==
        Lines{R"({"b":5})", R"({"b":6})", R"({"b":7})"});
  CHECK(Enumeration(space, Enumeration::Axes::all, {{"a", 1}, {"b", 8}}).count() == 2);
}

TEST_CASE("a configuration outside the space has no number", "[enumeration]") {
  const SearchSpace space = {{"a", choice({1, 2})}, {"b", randint(0, 3)}};
  const Enumeration enumeration(space, Enumeration::Axes::all);
  CHECK(enumeration.index_of({{"a", 2}, {"b", 1}}) == 4);
  CHECK(enumeration.index_of({{"a", 2}, {"b", 3}}) == std::nullopt);
  CHECK(enumeration.index_of({{"a", 2}}) == std::nullopt);
}

TEST_CASE("counts beyond 64 bits are no counts", "[enumeration]") {
  SearchSpace space;
  for (const char* name : {"a", "b"}) space.add(name, randint(0, 1LL << 32U));
  CHECK(Enumeration(space, Enumeration::Axes::all).count() == std::nullopt);
  CHECK(Enumeration(space, Enumeration::Axes::all, {{"a", 1}}).count() == 1ULL << 32U);
}

}  // namespace
}  // namespace tune::core
