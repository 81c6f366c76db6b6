#include <tune/config.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/random.hpp>

#include "support/comma_locale.hpp"
#include "support/seed.hpp"

namespace tune {
namespace {

using Catch::Contains;

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

Config round_trip(const Config& config) { return Config(Json::parse(config.dump())); }

TEST_CASE("get gives values by their type", "[config]") {
  const Config config(Json{{"lr", 0.1},
                           {"layers", {64, 128}},
                           {"name", "adam"},
                           {"nesterov", true},
                           {"depth", 5},
                           {"optimizer", {{"momentum", 0.9}}}});
  CHECK(config["lr"].get<double>() == 0.1);
  CHECK(config["lr"].get<float>() == 0.1F);
  CHECK(config["layers"].get<std::vector<int>>() == std::vector{64, 128});
  CHECK(config["name"].get<std::string>() == "adam");
  CHECK(config["nesterov"].get<bool>());
  CHECK(config["depth"].get<int>() == 5);
  CHECK(config["depth"].get<std::uint8_t>() == 5);
  CHECK(config["depth"].get<double>() == 5.0);
  CHECK(config["optimizer"]["momentum"].get<double>() == 0.9);
  CHECK(config["optimizer"].contains("momentum"));
  CHECK_FALSE(config["optimizer"].contains("beta1"));
  CHECK_FALSE(config["lr"].contains("momentum"));
  CHECK(config["optimizer"].get<Json>() == Json{{"momentum", 0.9}});
  CHECK(config.contains("lr"));
  CHECK_FALSE(config.contains("momentum"));
  CHECK(Config().empty());
}

TEST_CASE("a missing key is named with those that are there", "[config]") {
  const Config config(Json{{"lr", 0.1}, {"optimizer", {{"momentum", 0.9}, {"name", "sgd"}}}});
  CHECK_THROWS_AS(config["rate"], std::out_of_range);
  CHECK_THROWS_WITH(config["rate"],
                    R"(the configuration has no parameter "rate"; it has: "lr", "optimizer")");
  CHECK_THROWS_WITH(Config()["lr"], R"(the configuration has no parameter "lr"; it has: none)");
  CHECK_THROWS_AS(config["optimizer"]["beta"], std::out_of_range);
  CHECK_THROWS_WITH(config["optimizer"]["beta"],
                    R"(parameter "optimizer" has no "beta"; it has: "momentum", "name")");
  CHECK_THROWS_WITH(config["lr"]["beta"], R"(parameter "lr" is 0.1, not an object with a "beta")");
}

TEST_CASE("get refuses what would lose information, naming parameter, value and type", "[config]") {
  const Config config(Json{{"lr", 3.7},
                           {"whole", 3.0},
                           {"depth", 300},
                           {"debt", -1},
                           {"huge", 9007199254740993},
                           {"top", std::numeric_limits<std::uint64_t>::max()},
                           {"wide", 1e300},
                           {"tiny", 1e-300},
                           {"name", "5"},
                           {"flag", true},
                           {"layers", {64, "x"}},
                           {"nested", {{"lr", "high"}}},
                           {"none", nullptr}});
  CHECK(config["whole"].get<int>() == 3);
  CHECK(config["huge"].get<std::int64_t>() == 9007199254740993);
  CHECK(config["top"].get<std::uint64_t>() == std::numeric_limits<std::uint64_t>::max());

  CHECK_THROWS_AS(config["lr"].get<int>(), std::invalid_argument);
  CHECK_THROWS_WITH(config["lr"].get<int>(),
                    R"(parameter "lr" is 3.7, not an integer from -2147483648 to 2147483647)");
  CHECK_THROWS_WITH(config["depth"].get<std::int8_t>(), Contains("from -128 to 127"));
  CHECK_THROWS_WITH(config["debt"].get<unsigned>(),
                    R"(parameter "debt" is -1, not an integer from 0 to 4294967295)");
  CHECK_THROWS_WITH(config["top"].get<std::int64_t>(), Contains("18446744073709551615"));
  CHECK_THROWS_WITH(config["wide"].get<std::int64_t>(), Contains("1e+300"));
  CHECK_THROWS_WITH(
      config["huge"].get<double>(),
      R"(parameter "huge" is 9007199254740993, not a number that a double holds exactly)");
  CHECK_THROWS_WITH(config["top"].get<double>(), Contains("a double holds exactly"));
  CHECK_THROWS_WITH(config["wide"].get<float>(), Contains("in the range of a float"));
  CHECK_THROWS_WITH(config["tiny"].get<float>(), Contains("in the range of a float"));
  CHECK_THROWS_WITH(config["name"].get<int>(), Contains(R"("name" is "5", not an integer)"));
  CHECK_THROWS_WITH(config["name"].get<double>(), Contains("not a number"));
  CHECK_THROWS_WITH(config["flag"].get<int>(), Contains("is true, not an integer"));
  CHECK_THROWS_WITH(config["flag"].get<double>(), Contains("is true, not a number"));
  CHECK_THROWS_WITH(config["depth"].get<bool>(), Contains("is 300, not a boolean"));
  CHECK_THROWS_WITH(config["depth"].get<std::string>(), Contains("is 300, not text"));
  CHECK_THROWS_WITH(config["depth"].get<std::vector<int>>(), Contains("not an array"));
  CHECK_THROWS_WITH(config["none"].get<double>(), Contains("is null, not a number"));
  CHECK_THROWS_WITH(config["layers"].get<std::vector<int>>(),
                    Contains(R"(parameter "layers[1]" is "x")"));
  CHECK_THROWS_WITH(config["nested"]["lr"].get<double>(),
                    R"(parameter "nested/lr" is "high", not a number)");
}

TEST_CASE("SS-12: integers stay integers in JSON text", "[SS-12]") {
  const Config config(Json{{"depth", 5}, {"rate", 5.0}});
  CHECK(config.dump() == R"({"depth":5,"rate":5.0})");
  CHECK(round_trip(config) == config);
}

TEST_CASE("a Config is a JSON object and nothing else", "[config]") {
  CHECK_THROWS_AS(Config(Json(3)), std::invalid_argument);
  CHECK_THROWS_WITH(Config(Json::array({1, 2})), "a configuration must be a JSON object, is [1,2]");
  CHECK_THROWS_AS(Config(Json()), std::invalid_argument);
}

TEST_CASE("a value outlives its Config", "[config]") {
  const auto value = [] {
    const Config config(Json{{"a", {{"b", {1, 2}}}}});
    return config["a"]["b"];
  }();
  CHECK(value.get<std::vector<int>>() == std::vector{1, 2});
  CHECK(value.path() == "a/b");
}

TEST_CASE("equality is typed", "[config]") {
  const auto with = [](Json value) { return Config(Json{{"x", std::move(value)}}); };
  CHECK(with(1) == with(1));
  CHECK(with(1) == with(1U));  // how a parser and how a program hold the same integer
  CHECK_FALSE(with(1) == with(1.0));
  CHECK_FALSE(with(1) == with(true));
  CHECK_FALSE(with(1) == with("1"));
  CHECK_FALSE(with(-1) == with(std::numeric_limits<std::uint64_t>::max()));
  CHECK_FALSE(with(0.0) == with(-0.0));
  CHECK(with(NAN) == with(-NAN));
  CHECK_FALSE(with(NAN) == with(nullptr));
  CHECK(with({1, 2}) == with({1, 2}));
  CHECK_FALSE(with({1, 2}) == with({1, 2.0}));
  CHECK_FALSE(with({1, 2}) == with({1, 2, 3}));
  CHECK(with({{"a", 1}, {"b", 2}}) == with({{"b", 2}, {"a", 1}}));
  CHECK_FALSE(with({{"a", 1}}) == with({{"a", 1.0}}));
  CHECK_FALSE(with({{"a", 1}}) == with({{"b", 1}}));
  CHECK_FALSE(with(1) == Config());
}

TEST_CASE("LO-04: a configuration reads back bit-identical in every locale", "[LO-04]") {
  const test::CommaLocale locale;
  if (!locale.has_c_locale()) WARN("no localedef here: checked with C++ streams alone");
  const std::vector<double> values = {
      0.30000000000000004, 5e-324, 1.7976931348623157e308, -0.0, 1e23, 0.1, 1234.5};
  for (const double value : values) {
    const Config config(Json{{"lr", value}});
    std::ostringstream stream;
    stream << config;
    CHECK(stream.str() == config.dump());
    CHECK(config.dump().find(',') == std::string::npos);
    CHECK(bits(round_trip(config)["lr"].get<double>()) == bits(value));
  }
  CHECK_THROWS_WITH(Config(Json{{"lr", 3.7}})["lr"].get<int>(), Contains("is 3.7"));
}

TEST_CASE("LO-04: any double reads back bit-identical", "[LO-04]") {
  const std::uint64_t seed = test::test_seed(4);
  INFO("TUNE_TEST_SEED=" << seed);
  Random random(seed, "config round trip");
  for (int i = 0; i < 5'000; ++i) {
    const auto value = std::bit_cast<double>(random.next());
    if (!std::isfinite(value)) continue;
    const Config config(Json{{"lr", value}});
    REQUIRE(bits(round_trip(config)["lr"].get<double>()) == bits(value));
    REQUIRE(round_trip(config) == config);
  }
}

TEST_CASE("LO-03: text of any kind passes through a dump", "[LO-03]") {
  const Config config(Json{
      {"a", "MY Name (1, 2)"}, {"b", "../../etc"}, {"c", "x\ny"}, {"d", std::string("\0\"\\", 3)}});
  CHECK(round_trip(config) == config);
  CHECK_NOTHROW(Config(Json{{"a", "\xff"}}).dump());
}

}  // namespace
}  // namespace tune
