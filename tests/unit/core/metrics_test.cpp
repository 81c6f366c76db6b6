#include <tune/metrics.hpp>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace tune {
namespace {

using Catch::Contains;

std::vector<std::string> names_of(const Metrics& metrics) {
  std::vector<std::string> names;
  for (const auto& [name, value] : metrics) names.push_back(name);
  return names;
}

Metrics returned_in_braces() { return {{"loss", 0.3}, {"accuracy", 0.9}}; }
Metrics returned_text() { return {{"a", "b"}}; }
Metrics returned_done() { return {{"done", true}}; }

TEST_CASE("braces make metrics in the order in which they stand", "[metrics]") {
  const Metrics metrics = returned_in_braces();
  CHECK(names_of(metrics) == std::vector<std::string>{"loss", "accuracy"});
  CHECK(metrics.at("loss") == 0.3);
  CHECK(metrics.names() == "loss, accuracy");
  CHECK(metrics.size() == 2);
  CHECK(Metrics{}.empty());
  CHECK(Metrics({}).empty());
}

// A pointer is no boolean, wherever it points.
static_assert(std::constructible_from<MetricValue, bool>);
static_assert(std::constructible_from<MetricValue, const bool&>);
static_assert(!std::constructible_from<MetricValue, const double*>);
static_assert(!std::constructible_from<MetricValue, void*>);
static_assert(!std::constructible_from<MetricValue, std::shared_ptr<double>>);
static_assert(!std::constructible_from<Metrics::Entry, std::string, double*>);

TEST_CASE("a pair of texts is one text metric", "[metrics]") {
  for (const Metrics& metrics : {returned_text(), Metrics{{"a", "b"}}, Metrics({{"a", "b"}})}) {
    REQUIRE(metrics.size() == 1);
    CHECK(metrics.at("a") == "b");
    CHECK(metrics.at("a").type_name() == "text");
  }
  const Metrics two = {{"a", "b"}, {"c", "d"}};
  REQUIRE(two.size() == 2);
  CHECK(two.at("c") == "d");
  const std::string name = "a";
  const Metrics dynamic = {{name, std::string("b")}};
  CHECK(dynamic == returned_text());
}

TEST_CASE("values keep their type", "[metrics]") {
  const Metrics metrics = {
      {"boolean", true}, {"int", 3},      {"long", 3L},  {"size", sizeof(int)},
      {"double", 0.5},   {"float", 0.5F}, {"text", "x"}, {"string", std::string("x")}};
  const auto type = [&](const char* name) { return metrics.at(name).type_name(); };
  CHECK(type("boolean") == "boolean");
  CHECK(type("int") == "integer");
  CHECK(type("long") == "integer");
  CHECK(type("size") == "integer");
  CHECK(type("double") == "double");
  CHECK(type("float") == "double");
  CHECK(type("text") == "text");
  CHECK(type("string") == "text");
  CHECK(returned_done().at("done") == true);
  CHECK(returned_done().at("done").type_name() == "boolean");
}

TEST_CASE("ME-05: nested braces are flattened, and a slash in a name is part of it", "[ME-05]") {
  const Metrics one = {{"eval", {{"acc", 0.9}}}};
  CHECK(names_of(one) == std::vector<std::string>{"eval/acc"});
  CHECK(one == Metrics{{"eval/acc", 0.9}});

  const Metrics text = {{"eval", {{"best", "yes"}}}};
  CHECK(names_of(text) == std::vector<std::string>{"eval/best"});
  CHECK(text.at("eval/best") == "yes");

  const Metrics three = {{"a", {{"b", {{"c", 1}, {"d", "x"}}}, {"e", true}}}, {"f", 2.0}};
  CHECK(names_of(three) == std::vector<std::string>{"a/b/c", "a/b/d", "a/e", "f"});

  const Metrics inner = {{"acc", 0.5}};
  const Metrics variable = {{"eval", inner}, {"loss", 1}};
  CHECK(names_of(variable) == std::vector<std::string>{"eval/acc", "loss"});
  CHECK(Metrics{{"eval", {}}}.empty());

  const Metrics literal = {{"metrics/mAP50-95(B)", 0.4}};
  CHECK(literal.at("metrics/mAP50-95(B)") == 0.4);
}

TEST_CASE("ME-05: metrics from JSON are flattened in the same way", "[ME-05]") {
  const Json json = Json::parse(
      R"json({"eval": {"acc": 0.9, "per": {"cat": 1}}, "metrics/mAP50-95(B)": 0.4, "note": "a,b",
          "on": true, "layers": [1, 2], "none": null, "empty": {}})json");
  const Metrics metrics = Metrics::from_json(json);
  CHECK(metrics.at("eval/acc") == 0.9);
  CHECK(metrics.at("eval/per/cat") == 1);
  CHECK(metrics.at("metrics/mAP50-95(B)") == 0.4);
  CHECK(metrics.at("note") == "a,b");
  CHECK(metrics.at("on") == true);
  CHECK(metrics.at("layers") == "[1,2]");
  CHECK(metrics.at("none") == "null");
  CHECK(metrics.size() == 7);
  CHECK_THROWS_AS(Metrics::from_json(Json(3)), std::invalid_argument);
  CHECK_THROWS_WITH(Metrics::from_json(Json::array()), Contains("must be a JSON object, are []"));
}

TEST_CASE("ME-11: booleans and large integers are kept exactly", "[ME-11]") {
  const Metrics metrics = {{"converged", true}, {"tokens", 9007199254740993}};
  CHECK(metrics.at("converged").json().dump() == "true");
  CHECK(metrics.at("converged").as_double() == 1);
  CHECK(metrics.at("tokens").json().dump() == "9007199254740993");
  CHECK(metrics.at("tokens") == std::int64_t{9007199254740993});
  const Metrics read =
      Metrics::from_json(Json::parse(R"({"converged": true, "tokens": 9007199254740993})"));
  CHECK(read == metrics);
  CHECK(MetricValue(std::numeric_limits<std::int64_t>::min()).json().dump() ==
        "-9223372036854775808");
}

TEST_CASE("an unsigned value above the largest int64 is refused, or read as a double from JSON",
          "[metrics]") {
  const std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  CHECK_THROWS_AS(MetricValue(largest), std::out_of_range);
  CHECK_THROWS_WITH(MetricValue(largest),
                    Contains("18446744073709551615") && Contains("9223372036854775807"));
  CHECK(MetricValue(std::uint64_t{INT64_MAX}) == std::int64_t{INT64_MAX});
  CHECK(Metrics::from_json({{"n", largest}}).at("n") == 18446744073709551615.0);
}

TEST_CASE("as_double refuses text", "[metrics]") {
  CHECK(MetricValue(3).as_double() == 3);
  CHECK(MetricValue(false).as_double() == 0);
  CHECK(MetricValue(0.5).is_number());
  CHECK_FALSE(MetricValue("0.3").is_number());
  CHECK_THROWS_AS(MetricValue("0.3").as_double(), std::invalid_argument);
  CHECK_THROWS_WITH(MetricValue("0.3").as_double(), R"(metric value "0.3" is text, not a number)");
}

TEST_CASE("ME-03: values that are not finite are kept", "[ME-03]") {
  const Metrics metrics = {{"loss", INFINITY}, {"gap", -INFINITY}, {"acc", NAN}};
  CHECK(metrics.at("loss").as_double() == INFINITY);
  CHECK(metrics.at("gap").as_double() == -INFINITY);
  CHECK(std::isnan(metrics.at("acc").as_double()));
  CHECK(metrics == Metrics{{"loss", INFINITY}, {"gap", -INFINITY}, {"acc", -NAN}});
}

TEST_CASE("equality is typed and minds the order", "[metrics]") {
  CHECK_FALSE(MetricValue(1) == MetricValue(1.0));
  CHECK_FALSE(MetricValue(1) == MetricValue(true));
  CHECK_FALSE(MetricValue(1) == MetricValue("1"));
  CHECK(MetricValue(NAN) == MetricValue(NAN));
  CHECK_FALSE(Metrics{{"a", 1}, {"b", 2}} == Metrics{{"b", 2}, {"a", 1}});
}

TEST_CASE("set replaces a value in its place", "[metrics]") {
  Metrics metrics = {{"a", 1}, {"b", 2}, {"a", "later"}};
  CHECK(names_of(metrics) == std::vector<std::string>{"a", "b"});
  CHECK(metrics.at("a") == "later");
  metrics.set("b", 0.5);
  metrics["c"] = true;
  CHECK(metrics["d"] == 0.0);
  CHECK(names_of(metrics) == std::vector<std::string>{"a", "b", "c", "d"});
  metrics.erase("a");
  metrics.erase("absent");
  CHECK(metrics.names() == "b, c, d");
  CHECK_FALSE(metrics.contains("a"));
  CHECK(metrics.find("a") == nullptr);
}

TEST_CASE("a missing metric is named with those that are there", "[metrics]") {
  const Metrics metrics = {{"loss", 1.0}, {"acc", 0.5}};
  CHECK_THROWS_AS(metrics.at("val_loss"), std::out_of_range);
  CHECK_THROWS_WITH(metrics.at("val_loss"), R"(no metric "val_loss"; there are: loss, acc)");
  CHECK_THROWS_WITH(Metrics{}.at("loss"), R"(no metric "loss"; there are: none)");
}

}  // namespace
}  // namespace tune
