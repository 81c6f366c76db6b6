#include "core/json_text.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

namespace tune::core {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

TEST_CASE("exact_text keeps each metric with its type, and what is not finite", "[json_text]") {
  const Metrics metrics = {
      {"loss", NAN},  {"gap", -inf},          {"top", inf},
      {"big", 1e308}, {"one", 1.0},           {"n", std::int64_t{9007199254740993}},
      {"flag", true}, {"text", "a \"b\" \n"}, {"eval/acc", 0.1}};
  const ExactText text = exact_text(metrics);
  CHECK(metrics_of_text(text.json, text.non_finite) == metrics);
  CHECK(text.non_finite == R"({"loss":"nan","gap":"-inf","top":"inf"})");
  CHECK(exact_text(Metrics{{"a", 1}}).non_finite.empty());
  CHECK(exact_text(Metrics{}).json == "{}");
}

TEST_CASE("exact_text keeps any JSON", "[json_text]") {
  Json value = {{"a/b", {{"c", {1, 2.0, nullptr}}}}, {"x", "y"}};
  value["a/b"]["d~"] = inf;
  value["a/b"]["c"].push_back(-inf);
  const ExactText text = exact_text(value);
  const Json read = json_of_text(text.json, text.non_finite);
  CHECK(read == value);
  CHECK(read["a/b"]["c"][1].is_number_float());
  const ExactText alone = exact_text(Json(inf));
  CHECK(json_of_text(alone.json, alone.non_finite) == Json(inf));
}

TEST_CASE("text that is none is refused with the text", "[json_text]") {
  CHECK_THROWS_WITH(metrics_of_text("{\"a\":", ""), Catch::Contains("metrics {\"a\":"));
  CHECK_THROWS_AS(metrics_of_text("{\"a\":[]}", ""), std::runtime_error);
  CHECK_THROWS_AS(json_of_text("{\"a\":null}", "{\"b\":\"inf\"}"), std::runtime_error);
}

}  // namespace
}  // namespace tune::core
