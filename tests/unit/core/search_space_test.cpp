#include <tune/search_space.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace tune {
namespace {

using Catch::Contains;
using Catch::StartsWith;

// What the error says when `define` defines a space; empty if it does not throw.
template <class Define>
std::string refusal(Define define) {
  try {
    define();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> described(const SearchSpace& space) {
  std::vector<std::string> lines;
  for (const SearchSpace::Parameter& parameter : space.parameters()) {
    std::string line = parameter.path + " " + parameter.domain.describe();
    for (const auto& [path, key] : parameter.conditions) {
      line += " if " + path + " is " + key.dump();
    }
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST_CASE("a space is written as nested braces", "[search_space]") {
  const SearchSpace space = {
      {"lr", loguniform(0.5, 1)},
      {"hidden", choice({64, 128, 256})},
      {"optimizer", branch({{"sgd", {{"momentum", uniform(0.0, 0.99)}}},
                            {"adam", {{"beta1", uniform(0.8, 0.99)}, {"lr2", 1}}},
                            {"none", {}}})},
      {"data", {{"augment", true}, {"crop", {{"size", randint(1, 9)}}}}}};
  CHECK(described(space) == Lines{"lr loguniform(0.5, 1)", "hidden choice(64, 128, 256)",
                                  R"(optimizer branch("sgd", "adam", "none"))",
                                  R"(momentum uniform(0, 0.99) if optimizer is "sgd")",
                                  R"(beta1 uniform(0.8, 0.99) if optimizer is "adam")",
                                  R"(lr2 constant(1) if optimizer is "adam")",
                                  "data/augment constant(true)", "data/crop/size randint(1, 9)"});
  CHECK(space.parameters().back().names == Lines{"data", "crop", "size"});
}

TEST_CASE("braces around options mean what they look like", "[search_space]") {
  CHECK(described({{"x", choice({"a", "b"})}}) == Lines{R"(x choice("a", "b"))"});
  CHECK(described({{"x", choice({"only"})}}) == Lines{R"(x choice("only"))"});
  CHECK(described({{"x", choice({nullptr, "auto", 1, 2.5, true})}}) ==
        Lines{R"(x choice(null, "auto", 1, 2.5, true))"});
  CHECK(described({{"x", choice({Json{128, 64}, 64})}}) == Lines{"x choice([128,64], 64)"});
  CHECK(described({{"x", grid_search({{128, 64}, {64, 32}})}}) ==
        Lines{"x grid_search([128,64], [64,32])"});
  CHECK(described({{"x", constant({1, 2, 3})}}) == Lines{"x constant([1,2,3])"});
  CHECK(described({{"x", choice(std::vector<Json>(1, Json(7)))}}) == Lines{"x choice(7)"});
  CHECK(described({{"opt", {{"lr", uniform(0, 1)}}}}) == Lines{"opt/lr uniform(0, 1)"});
  CHECK(described({{"opt", {{"a", "b"}, {"c", "d"}}}}) ==
        Lines{R"(opt/a constant("b"))", R"(opt/c constant("d"))"});
}

TEST_CASE("constants of every type keep it", "[search_space]") {
  const SearchSpace space = {
      {"b", true},        {"i", 10},           {"u", 10U}, {"l", 10L},
      {"f", 1.5F},        {"d", 1.0},          {"s", "x"}, {"t", std::string("y")},
      {"z", sizeof(int)}, {"j", Json(nullptr)}};
  CHECK(described(space) == Lines{"b constant(true)", "i constant(10)", "u constant(10)",
                                  "l constant(10)", "f constant(1.5)", "d constant(1.0)",
                                  R"(s constant("x"))", R"(t constant("y"))", "z constant(4)",
                                  "j constant(null)"});
}

TEST_CASE("a space can be built in code", "[search_space]") {
  const SearchSpace inner = {{"momentum", uniform(0, 1)}};
  std::vector<Domain::Branch> branches;
  branches.emplace_back("sgd", inner);
  branches.emplace_back(true, SearchSpace());
  SearchSpace space;
  CHECK(space.empty());
  space.add("optimizer", branch(branches));
  space.add("data", inner);
  space.add("other", branch({{1, SearchSpace{{"beta", inner}}}}));
  CHECK(space.entries().size() == 3);
  CHECK(described(space).size() == 5);
}

TEST_CASE("what add() refuses leaves the space as it was", "[search_space]") {
  SearchSpace space = {{"a", 1}};
  CHECK_THROWS_AS(space.add("a", uniform(0, 1)), std::invalid_argument);
  CHECK_THROWS_AS(space.add("b", uniform(1, 0)), std::invalid_argument);
  CHECK(described(space) == Lines{"a constant(1)"});
}

TEST_CASE("SS-01: a log domain with lower bound 0 or below is refused", "[SS-01]") {
  CHECK(refusal([] {
          SearchSpace{{"x", loguniform(0.0, 10)}};
        }) == R"(parameter "x": loguniform(0, 10): low is 0, must be finite and above 0)");
  CHECK(refusal([] {
          SearchSpace{{"y", loguniform(-3, 1)}};
        }) == R"(parameter "y": loguniform(-3, 1): low is -3, must be finite and above 0)");
}

TEST_CASE("SS-03: reversed bounds are refused", "[SS-03]") {
  CHECK(
      refusal([] {
        SearchSpace{{"l1", loguniform(1e-2, 1e-7)}};
      }) ==
      R"(parameter "l1": loguniform(0.01, 1e-07): low 0.01 is above high 1e-07, must be at most high)");
  CHECK(refusal([] {
          SearchSpace{{"u", uniform(5, 1)}};
        }) == R"(parameter "u": uniform(5, 1): low 5 is above high 1, must be at most high)");
}

TEST_CASE("SS-08: an integer log domain with lower bound 0 is refused", "[SS-08]") {
  CHECK(refusal([] {
          SearchSpace{{"n", lograndint(0, 100)}};
        }) == R"(parameter "n": lograndint(0, 100): low is 0, must be at least 1)");
}

TEST_CASE("SS-10: an empty option list is refused", "[SS-10]") {
  CHECK(refusal([] {
          SearchSpace{{"opt", choice({})}};
        }) == R"(parameter "opt": choice(): there are no options, must be at least one)");
  CHECK(refusal([] {
          SearchSpace{{"g", grid_search({})}};
        }) == R"(parameter "g": grid_search(): there are no options, must be at least one)");
}

TEST_CASE("SS-14: a name twice on one path is refused", "[SS-14]") {
  CHECK(refusal([] {
          SearchSpace{{"x", 1}, {"y", 2}, {"x", uniform(0, 1)}};
        }) == R"(parameter "x": the name occurs twice, must be there once)");
  // A branch's parameters stand beside its key, before and behind it.
  CHECK_THAT(refusal([] {
               SearchSpace{{"lr", 1}, {"o", branch({{"a", {{"lr", 2}}}})}};
             }),
             StartsWith(R"(parameter "lr")"));
  CHECK_THAT(refusal([] {
               SearchSpace{{"o", branch({{"a", {{"lr", 2}}}})}, {"lr", 1}};
             }),
             StartsWith(R"(parameter "lr")"));
  CHECK_THAT(refusal([] {
               SearchSpace{{"o", branch({{"a", {{"o", 2}}}})}};
             }),
             StartsWith(R"(parameter "o")"));
  // Two branches of different parameters may hold at the same time.
  CHECK_THAT(
      refusal([] {
        SearchSpace{{"o", branch({{"a", {{"lr", 2}}}})}, {"p", branch({{"b", {{"lr", 1}}}})}};
      }),
      StartsWith(R"(parameter "lr")"));
  CHECK_THAT(refusal([] {
               SearchSpace{{"s", {{"x", 1}}}, {"s", {{"y", 1}}}};
             }),
             StartsWith(R"(parameter "s")"));
}

TEST_CASE("a name may occur in branches that exclude each other", "[search_space]") {
  const SearchSpace space = {
      {"o", branch({{"a", {{"lr", uniform(0, 1)}}}, {"b", {{"lr", uniform(2, 3)}}}})},
      {"s", {{"o", 1}, {"lr", 2}}}};
  CHECK(described(space) == Lines{R"(o branch("a", "b"))", R"(lr uniform(0, 1) if o is "a")",
                                  R"(lr uniform(2, 3) if o is "b")", "s/o constant(1)",
                                  "s/lr constant(2)"});
}

// In one branch "x" is a value, in the other the space that "y" stands in.
const SearchSpace& value_or_space() {
  static const SearchSpace space = {
      {"opt", branch({{"a", {{"x", choice({1, 2, Json{{"y", 7}}})}}},
                      {"b", {{"x", {{"y", uniform(0, 1)}, {"z", 3}}}}}})}};
  return space;
}

TEST_CASE("exclusive branches may have a value and a space of one name", "[search_space]") {
  CHECK(described(value_or_space()) ==
        Lines{R"(opt branch("a", "b"))", R"(x choice(1, 2, {"y":7}) if opt is "a")",
              R"(x/y uniform(0, 1) if opt is "b")", R"(x/z constant(3) if opt is "b")"});
  // What stands beside the branch collides with any of them, before it or behind.
  const Domain opt =
      branch({{"a", {{"x", uniform(0, 1)}}}, {"b", {{"x", {{"y", uniform(0, 1)}}}}}});
  for (const std::pair<std::string, Domain>& other :
       std::vector<std::pair<std::string, Domain>>{{"x", constant(1)},
                                                   {"x", SearchSpace{{"w", 1}}},
                                                   {"x/y", constant(1)},
                                                   {"x/w", constant(1)},
                                                   {"x/y/w", constant(1)}}) {
    CAPTURE(other.first);
    CHECK_THAT(refusal([&] {
                 SearchSpace{{other.first, other.second}, {"opt", opt}};
               }),
               StartsWith("parameter \"x"));
    CHECK_THAT(refusal([&] {
                 SearchSpace{{"opt", opt}, {other.first, other.second}};
               }),
               StartsWith("parameter \"x"));
  }
}

TEST_CASE("a point is checked where a name is a value or a space", "[search_space]") {
  const auto point_refusal = [](const Json& point) {
    return refusal([&] { value_or_space().check_point(point); });
  };
  CHECK(point_refusal({{"opt", "a"}, {"x", 1}}).empty());
  CHECK(point_refusal({{"opt", "a"}, {"x", {{"y", 7}}}}).empty());
  CHECK(point_refusal({{"opt", "b"}, {"x", {{"y", 0.5}}}}).empty());
  CHECK(point_refusal({{"opt", "b"}, {"x", {{"y", 0.5}, {"z", 3}}}}).empty());
  CHECK(point_refusal({{"opt", "b"}, {"x/y", 0.5}}).empty());

  CHECK(point_refusal({{"opt", "a"}, {"x", 3}}) ==
        R"(parameter "x" is 3 (an integer), must be in choice(1, 2, {"y":7}))");
  CHECK(point_refusal({{"opt", "b"}, {"x", {{"y", 7}}}}) ==
        R"(parameter "x/y" is 7 (an integer), must be in uniform(0, 1))");
  CHECK(point_refusal({{"opt", "b"}, {"x", 1}}) ==
        R"(parameter "x" is 1 (an integer), but exists only where "opt" is "a")");
  CHECK_THAT(point_refusal({{"opt", "b"}, {"x", {{"w", 1}}}}),
             StartsWith(R"(parameter "x/w" is not in the search space; it has: )"));
  CHECK(point_refusal({{"opt", "a"}, {"x/y", 0.5}}) ==
        R"(parameter "x/y" is 0.5 (a double), but exists only where "opt" is "b")");
  CHECK_THAT(point_refusal({{"x", {{"y", 0.5}}}}), Contains("but exists only where"));
}

TEST_CASE("SS-15: flattened names that collide are refused", "[SS-15]") {
  CHECK(
      refusal([] {
        SearchSpace{{"a", {{"b", uniform(0, 1)}}}, {"a/b", uniform(5, 6)}};
      }) ==
      R"(parameter "a/b": the name occurs twice, must be there once (nested names are joined by '/'))");
  CHECK(
      refusal([] {
        SearchSpace{{"a/b", uniform(5, 6)}, {"a", {{"b", uniform(0, 1)}}}};
      }) ==
      R"(parameter "a/b": the name occurs twice, must be there once (nested names are joined by '/'))");
  CHECK(
      refusal([] {
        SearchSpace{{"a", 1}, {"a/b", 2}};
      }) ==
      R"(parameter "a/b": the name collides with parameter "a" (nested names are joined by '/'))");
  CHECK(
      refusal([] {
        SearchSpace{{"a/b", 2}, {"a", 1}};
      }) ==
      R"(parameter "a": the name collides with parameter "a/b" (nested names are joined by '/'))");
  // Without a collision a name may hold the sign.
  CHECK(SearchSpace{{"a/b", 2}, {"a/c", 1}}.parameters().at(0).names == Lines{"a/b"});
}

TEST_CASE("the name of a member of params.json is refused as a parameter", "[search_space]") {
  const std::string reason =
      R"(: the name is reserved, params.json lists there which values are not finite)";
  CHECK(refusal([] {
          SearchSpace{{"nonfinite", uniform(0, 1)}};
        }) == R"(parameter "nonfinite")" + reason);
  CHECK(refusal([] {
          SearchSpace{{"nonfinite", {{"x", 1}}}};
        }) == R"(parameter "nonfinite")" + reason);
  CHECK(refusal([] {
          SearchSpace{{"o", branch({{"a", {{"nonfinite", 1}}}})}};
        }) == R"(parameter "nonfinite" (where "o" is "a"))" + reason);
  CHECK_THAT(refusal([] {
               SearchSpace space;
               space.add("nonfinite", 1);
             }),
             StartsWith(R"(parameter "nonfinite")"));
  CHECK(SearchSpace{{"s", {{"nonfinite", 1}}}}.parameters().size() == 1);
}

TEST_CASE("an error names the whole path and the branch", "[search_space]") {
  CHECK(refusal([] {
          SearchSpace{{"net", {{"opt", branch({{"sgd", {{"m", quniform(0, 1, 0)}}}})}}}};
        }) == R"(parameter "net/m" (where "net/opt" is "sgd"): quniform(0, 1, 0): )"
              "q is 0, must be finite and above 0");
  CHECK_THAT(refusal([] { SearchSpace{{"", 1}}; }), Contains("a name is empty"));
  CHECK_THAT(refusal([] { SearchSpace{{"s", {{"", 1}}}}; }), StartsWith(R"(parameter "s/")"));
  CHECK_THAT(refusal([] { SearchSpace{{"\xff", 1}}; }), Contains("not valid UTF-8"));
}

TEST_CASE("a parameter is active where all its branches hold", "[search_space]") {
  const SearchSpace space = {
      {"a", branch({{1, {{"b", branch({{"x", {{"c", uniform(0, 1)}}}, {"y", {}}})}}}, {2, {}}})}};
  const SearchSpace::Parameter c = space.parameters().at(2);
  CHECK(SearchSpace::is_active(c, {{"a", 1}, {"b", "x"}}));
  CHECK_FALSE(SearchSpace::is_active(c, {{"a", 1}, {"b", "y"}}));
  CHECK_FALSE(SearchSpace::is_active(c, {{"a", 1.0}, {"b", "x"}}));
  CHECK_FALSE(SearchSpace::is_active(c, {{"a", 1}}));
}

TEST_CASE("points may be partial but must lie in the space", "[search_space]") {
  const SearchSpace space = {
      {"lr", uniform(0, 1)},
      {"s", {{"n", randint(0, 5)}}},
      {"fixed", 3},
      {"twice", sample_from([](const Config&) { return Json(0); })},
      {"opt", branch({{"sgd", {{"m", uniform(0, 1)}}}, {"adam", {{"beta", uniform(0, 1)}}}})}};
  const auto point_refusal = [&space](const Json& point) {
    return refusal([&] { space.check_point(point); });
  };
  CHECK(point_refusal(Json::object()).empty());
  CHECK(point_refusal({{"lr", 0}, {"s", {{"n", 4}}}, {"fixed", 3}, {"twice", "x"}}).empty());
  CHECK(point_refusal({{"s/n", 4}}).empty());
  CHECK(point_refusal({{"opt", "sgd"}, {"m", 0.5}}).empty());

  CHECK(point_refusal({{"lr", 1.5}}) ==
        R"(parameter "lr" is 1.5 (a double), must be in uniform(0, 1))");
  CHECK(point_refusal({{"lr", "0.5"}}) ==
        R"(parameter "lr" is "0.5" (text), must be in uniform(0, 1))");
  CHECK(point_refusal({{"s", {{"n", 1.0}}}}) ==
        R"(parameter "s/n" is 1 (a double), must be in randint(0, 5))");
  CHECK(point_refusal({{"fixed", 4}}) ==
        R"(parameter "fixed" is 4 (an integer), must be in constant(3))");
  CHECK(point_refusal({{"opt", "rms"}}) ==
        R"(parameter "opt" is "rms" (text), must be in branch("sgd", "adam"))");
  CHECK(point_refusal({{"opt", "adam"}, {"m", 0.5}}) ==
        R"(parameter "m" is 0.5 (a double), but exists only where "opt" is "sgd")");
  CHECK(point_refusal({{"m", 0.5}}) ==
        R"(parameter "m" is 0.5 (a double), but exists only where "opt" is "sgd")");
  CHECK(
      point_refusal({{"s", {{"m", 1}}}}) ==
      R"(parameter "s/m" is not in the search space; it has: "beta", "fixed", "lr", "m", "opt", "s/n", "twice")");
  CHECK(
      point_refusal({{"s", 1}}) ==
      R"(parameter "s" is not in the search space; it has: "beta", "fixed", "lr", "m", "opt", "s/n", "twice")");
  CHECK(point_refusal(Json::array()) == "a point must be a JSON object, is [] (an array)");
}

TEST_CASE("the count sums over branches and multiplies the rest", "[search_space]") {
  CHECK(SearchSpace().count() == 1);
  CHECK(SearchSpace{{"a", choice({1, 2, 3})}, {"s", {{"b", randint(0, 4)}}}, {"c", 5}}.count() ==
        12);
  CHECK(SearchSpace{{"a", branch({{1, {{"b", grid_search({8, 9})}}},
                                  {2, {{"b", quniform(0, 1, 0.25)}, {"c", uniform(3, 3)}}},
                                  {3, {}}})},
                    {"d", choice({1, 2})}}
            .count() == (2 + 5 + 1) * 2);
  CHECK(SearchSpace{{"a", branch({{1, {{"b", uniform(0, 1)}}}, {2, {}}})}}.count() == std::nullopt);
  CHECK(SearchSpace{{"a", randint(0, 1L << 40)}, {"b", randint(0, 1L << 40)}}.count() ==
        std::nullopt);
  const auto twice = [](const Config& config) { return Json(2 * config["a"].get<int>()); };
  CHECK(SearchSpace{{"a", randint(0, 4)}, {"b", sample_from(twice)}}.count() == 4);
  const auto noise = [](const Config&, Random& random) { return Json(random.uniform()); };
  CHECK(SearchSpace{{"a", randint(0, 4)}, {"b", sample_from(noise)}}.count() == std::nullopt);
}

TEST_CASE("the recorded definition keeps names, order and nesting", "[search_space]") {
  const SearchSpace space = {
      {"z", uniform(0, 1)}, {"a", {{"n", 3}}}, {"o", branch({{"k", {{"q", qrandint(2, 8, 2)}}}})}};
  CHECK(space.json() == Json::parse(R"([
    {"name": "z", "kind": "uniform", "low": 0.0, "high": 1.0},
    {"name": "a", "kind": "space", "parameters": [{"name": "n", "kind": "constant", "value": 3}]},
    {"name": "o", "kind": "branch", "branches": [
      {"key": "k", "parameters": [
        {"name": "q", "kind": "qrandint", "low": 2, "high": 8, "q": 2}]}]}])"));
}

TEST_CASE("paths find values in nested objects and under names that hold '/'", "[search_space]") {
  const Json config = {{"a", {{"b", {{"c", 1}}}, {"d/e", 2}}}, {"f/g", 3}, {"n", nullptr}};
  const auto found = [&config](std::string_view path) {
    const Json* value = find_path(config, path);
    return value == nullptr ? Json("absent") : *value;
  };
  CHECK(found("a/b/c") == 1);
  CHECK(found("a/d/e") == 2);
  CHECK(found("f/g") == 3);
  CHECK(found("n") == nullptr);
  CHECK(found("a/b/x") == "absent");
  CHECK(found("f") == "absent");
  CHECK(found("n/x") == "absent");
  CHECK(find_path(config, Lines{"a", "d/e"}) == &config["a"]["d/e"]);
  CHECK(find_path(config, Lines{"a", "d", "e"}) == nullptr);

  Json made = Json::object();
  set_path(made, Lines{"a", "b"}, 1);
  set_path(made, Lines{"a", "c"}, 2);
  set_path(made, Lines{"x/y", "z"}, 3);
  set_path(made, Lines{"a", "b"}, 4);
  CHECK(made == Json::parse(R"({"a": {"b": 4, "c": 2}, "x/y": {"z": 3}})"));
}

TEST_CASE("constraints see constants, nested ones too, and are named in order", "[search_space]") {
  SearchSpace space{{"a", randint(0, 9)}, {"limits", {{"most", 5}}}};
  CHECK(space.is_allowed({{"a", 8}}));
  space.require("below most", [](const Config& config) {
    return config["a"].get<int>() <
           config["limits"]["most"].get<int>() + (config.contains("b") ? 9 : 0);
  });
  space.require("not 3", [](const Config& config) { return config["a"].get<int>() != 3; });
  CHECK(space.constraints() == std::vector<std::string>{"below most", "not 3"});
  CHECK(space.is_allowed({{"a", 4}}));
  CHECK_FALSE(space.is_allowed({{"a", 5}}));
  CHECK_FALSE(space.is_allowed({{"a", 3}}));
  space.add("b", 1);
  CHECK(space.is_allowed({{"a", 5}}));
}

TEST_CASE("constraints that cannot work are refused", "[search_space]") {
  const auto always = [](const Config&) { return true; };
  SearchSpace space{{"a", randint(0, 9)}};
  CHECK_THROWS_WITH(space.require("", always), "constraint \"\": the name is empty, must not be");
  CHECK_THROWS_WITH(space.require("c", nullptr), "constraint \"c\": there is no function");
  space.require("c", always);
  CHECK_THROWS_WITH(space.require("c", always),
                    "constraint \"c\": the name is taken, must be there once");
  const std::string inside =
      "the space inside has the constraint \"c\", must be required of the outermost space";
  CHECK_THROWS_WITH(SearchSpace({{"s", space}}), "parameter \"s\": " + inside);
  CHECK_THROWS_WITH(SearchSpace({{"s", branch({{"k", space}})}}), "parameter \"s\": " + inside);
}

}  // namespace
}  // namespace tune
