#include "benchmarks/options.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

namespace tune::bench {
namespace {

using Catch::Matchers::Contains;

BenchOptions parsed(const std::vector<std::string_view>& arguments) {
  return parse_options(arguments);
}

std::string refusal(const std::vector<std::string_view>& arguments) {
  try {
    (void)parse_options(arguments);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("without options random search takes the six functions with figures", "[benchmarks]") {
  const BenchOptions options = parsed({});
  REQUIRE(options.searchers.size() == 1);
  CHECK(options.searchers.front().label() == "random");
  CHECK(options.problems.size() == 6);
  CHECK(options.seeds == 50);
  CHECK(options.asks_quality);
}

TEST_CASE("searchers, problems and slots can be named several times", "[benchmarks]") {
  const BenchOptions options =
      parsed({"--searcher", "a", "--searcher", "b={\"x\":1}", "--problem", "levy4", "--problem",
              "branin", "--parallel", "8,32", "--seeds", "3", "--first-seed", "7"});
  REQUIRE(options.searchers.size() == 2);
  CHECK(options.searchers[1].options == Json{{"x", 1}});
  REQUIRE(options.problems.size() == 2);
  CHECK(options.problems[0].name == "branin");
  CHECK(options.problems[1].name == "levy4");
  CHECK(options.slots == std::vector<int>{8, 32});
  CHECK_FALSE(options.asks_quality);
  CHECK(options.seeds == 3);
  CHECK(options.first_seed == 7);
}

TEST_CASE("a set can be chosen", "[benchmarks]") {
  CHECK(parsed({"--set", "heldout"}).problems.size() == heldout_problems().size());
  CHECK(parsed({"--set", "all"}).problems.size() == all_problems().size());
}

TEST_CASE("what cannot be understood is refused with what is allowed", "[benchmarks]") {
  CHECK_THAT(refusal({"--seeds", "none"}), Contains("--seeds: \"none\"") && Contains("at least 1"));
  CHECK_THAT(refusal({"--seeds", "0"}), Contains("at least 1"));
  CHECK_THAT(refusal({"--seeds"}), Contains("--seeds"));
  CHECK_THAT(refusal({"--parallel", "8,1"}), Contains("at least 2"));
  CHECK_THAT(refusal({"--searcher", "tpe=[1]"}), Contains("tpe") && Contains("a JSON object"));
  CHECK_THAT(refusal({"--problem", "brannin"}), Contains("brannin") && Contains("branin, "));
  CHECK_THAT(refusal({"--set", "some"}), Contains("reference, heldout or all"));
  CHECK_THAT(refusal({"--against", "SMAC"}), Contains("CMA-ES"));
  CHECK_THAT(refusal({"--sedes", "3"}), Contains("--sedes"));
  CHECK_THAT(refusal({"branin"}), Contains("branin"));
}

}  // namespace
}  // namespace tune::bench
