#include "core/domain_json.hpp"

#include <stdexcept>

#include <catch2/catch.hpp>

namespace tune::core {
namespace {

using Catch::Contains;

TEST_CASE("each domain of values comes back from its record", "[domain]") {
  const SearchSpace space = {{"a", uniform(-1, 2)},      {"b", loguniform(1e-4, 1)},
                             {"c", quniform(0, 1, 0.1)}, {"d", qloguniform(1, 64, 2)},
                             {"e", normal(1, 2)},        {"f", qnormal(0, 3, 0.5)},
                             {"g", randint(-3, 4)},      {"h", lograndint(1, 100)},
                             {"i", qrandint(0, 64, 8)},  {"j", choice({"a", 1, 1.5, true})},
                             {"k", ordinal({16, 32})},   {"l", grid_search({1, 2})},
                             {"m", constant("x")}};
  const Json record = space.json();
  CHECK(space_from_json("test", record).json() == record);
  CHECK(space_from_json("test", Json::parse(record.dump())).json() == record);
  Json by_name = Json::object();
  for (const SpaceEntry& entry : space.entries()) by_name[entry.name] = entry.domain.json();
  CHECK(space_from_json("test", by_name).json() == record);
}

TEST_CASE("a list is an ordinal", "[domain]") {
  CHECK(domain_from_json("test", {16, 32, 64}).json() == ordinal({16, 32, 64}).json());
}

TEST_CASE("a record that is no domain is refused with what is wrong", "[domain]") {
  const auto read = [](const char* text) { return space_from_json("s", Json::parse(text)); };
  CHECK_THROWS_AS(read("3"), std::invalid_argument);
  CHECK_THROWS_WITH(read("3"), Contains("s is 3"));
  CHECK_THROWS_WITH(read(R"({"lr": 3})"), Contains("s.lr"));
  CHECK_THROWS_WITH(read(R"({"lr": {"low": 3}})"), Contains("s.lr: has no kind"));
  CHECK_THROWS_WITH(read(R"({"lr": {"kind": "flat"}})"),
                    Contains("kind is \"flat\", want uniform"));
  CHECK_THROWS_WITH(read(R"({"lr": {"kind": "uniform", "low": 3}})"), Contains("has no high"));
  CHECK_THROWS_WITH(read(R"({"lr": {"kind": "uniform", "low": 3, "high": "a"}})"),
                    Contains("high is \"a\""));
  CHECK_THROWS_WITH(read(R"({"lr": {"kind": "uniform", "low": 3, "high": 4, "q": 1}})"),
                    Contains("unknown option \"q\""));
  CHECK_THROWS_WITH(read(R"({"lr": {"kind": "uniform", "low": 3, "high": 1}})"),
                    Contains("lr") && Contains("low 3"));
  CHECK_THROWS_WITH(read(R"({"lr": {"kind": "choice", "options": 1}})"), Contains("options is 1"));
  CHECK_THROWS_WITH(read(R"([{"kind": "choice"}])"), Contains("want a domain with its name"));
}

}  // namespace
}  // namespace tune::core
