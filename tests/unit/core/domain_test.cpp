#include <tune/domain.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/search_space.hpp>

#include "support/limits.hpp"

namespace tune {
namespace {

using Catch::Contains;

TEST_CASE("each kind says what it is, in words and as a recorded definition", "[domain]") {
  const auto definition = [](const Domain& domain) { return domain.json().dump(); };
  CHECK(loguniform(0.5, 8).describe() == "loguniform(0.5, 8)");
  CHECK(definition(loguniform(0.5, 8)) == R"({"high":8.0,"kind":"loguniform","low":0.5})");
  CHECK(quniform(0, 1, 0.25).describe() == "quniform(0, 1, 0.25)");
  CHECK(definition(quniform(0, 1, 0.25)) == R"({"high":1.0,"kind":"quniform","low":0.0,"q":0.25})");
  CHECK(qnormal(0, 2, 0.5).describe() == "qnormal(0, 2, 0.5)");
  CHECK(definition(qnormal(0, 2, 0.5)) == R"({"kind":"qnormal","mean":0.0,"q":0.5,"sd":2.0})");
  CHECK(randint(test::lowest, test::highest).describe() ==
        "randint(-9223372036854775808, 9223372036854775807)");
  CHECK(definition(qrandint(10, 40, 10)) == R"({"high":40,"kind":"qrandint","low":10,"q":10})");
  CHECK(choice({1, 1.0, "1"}).describe() == R"(choice(1, 1.0, "1"))");
  CHECK(definition(ordinal({"s", "m"})) == R"({"kind":"ordinal","options":["s","m"]})");
  CHECK(definition(constant("x")) == R"({"kind":"constant","value":"x"})");
  CHECK(branch({{"sgd", {}}, {2, {}}}).describe() == R"(branch("sgd", 2))");
  CHECK(
      definition(branch({{"sgd", {{"m", uniform(0, 1)}}}})) ==
      R"({"branches":[{"key":"sgd","parameters":[{"high":1.0,"kind":"uniform","low":0.0,"name":"m"}]}],"kind":"branch"})");
  CHECK(definition(sample_from([](const Config&) { return Json(1); })) ==
        R"({"kind":"sample_from"})");
}

TEST_CASE("PE-04: a domain describes itself in few words, however large its options",
          "[domain][PE-04]") {
  const std::string large = constant(std::vector<double>(60'000, 1.5)).describe();
  CHECK_THAT(large, Catch::StartsWith("constant([1.5,1.5,") && Catch::EndsWith("...)"));
  CHECK(large.size() < 200);
  std::vector<Json> many;
  for (int i = 0; i < 10'000; ++i) many.emplace_back(i);
  const std::string list = choice(many).describe();
  CHECK_THAT(list, Catch::StartsWith("choice(0, 1, 2, ") && Catch::EndsWith(", ...)"));
  CHECK(list.size() < 600);
}

TEST_CASE("a domain knows its family", "[domain]") {
  CHECK(lograndint(1, 8).is_integer());
  CHECK(lograndint(1, 8).is_log());
  CHECK(qloguniform(1, 8, 1).is_log());
  CHECK_FALSE(quniform(1, 8, 1).is_integer());
  CHECK(grid_search({1, 2}).is_categorical());
  CHECK(branch({{"a", {}}}).is_categorical());
  CHECK_FALSE(constant(1).is_categorical());
  CHECK(sample_from([](const Config&, Random& random) {
          return Json(random.uniform());
        }).is_random_function());
  CHECK_FALSE(sample_from([](const Config&) { return Json(1); }).is_random_function());
}

TEST_CASE("faults name the offending value and what is allowed", "[domain]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(uniform(nan, 1).check() == "low is nan, must be finite");
  CHECK(uniform(0, inf).check() == "high is inf, must be finite");
  CHECK(uniform(5, 1).check() == "low 5 is above high 1, must be at most high");
  CHECK(loguniform(0, 10).check() == "low is 0, must be finite and above 0");
  CHECK(loguniform(-3, 1).check() == "low is -3, must be finite and above 0");
  CHECK(quniform(0, 1, 0).check() == "q is 0, must be finite and above 0");
  CHECK(quniform(0, 1, nan).check() == "q is nan, must be finite and above 0");
  CHECK(quniform(0.1, 0.9, 1).check() ==
        "there is no multiple of 1 between low 0.1 and high 0.9, must be at least one");
  CHECK(quniform(0, 1e300, 1e-300).check() ==
        "q is 1e-300, must be at least 2^-53 of each bound's size");
  CHECK(qloguniform(0, 1, 0.5).check() == "low is 0, must be finite and above 0");
  CHECK(normal(inf, 1).check() == "mean is inf, must be finite");
  CHECK(normal(0, 0).check() == "sd is 0, must be finite and above 0");
  CHECK(qnormal(0, 1, -1).check() == "q is -1, must be finite and above 0");
  CHECK(randint(2, 2).check() == "low 2 must be below high 2, which is itself excluded");
  CHECK(lograndint(0, 100).check() == "low is 0, must be at least 1");
  CHECK(qrandint(1, 2, 0).check() == "q is 0, must be at least 1");
  CHECK(qrandint(2, 1, 1).check() == "low 2 is above high 1, must be at most high");
  CHECK(qrandint(1, 2, 3).check() ==
        "there is no multiple of 3 between low 1 and high 2, must be at least one");
  CHECK(choice({}).check() == "there are no options, must be at least one");
  CHECK(ordinal({"a", "b", "a"}).check() ==
        R"(the option "a" occurs twice, each must be there once)");
  CHECK(choice({1.0, inf}).check() == "option 1: the value is inf, must be finite");
  CHECK(choice({"\xff"}).check() == "option 0: the text \"\xEF\xBF\xBD\" is not valid UTF-8");
  CHECK(branch(std::vector<Domain::Branch>()).check() ==
        "there are no branches, must be at least one");
  CHECK(branch({{"a", {}}, {"a", {}}}).check() ==
        R"(the option "a" occurs twice, each must be there once)");
  CHECK(branch({{Json::array({1}), {}}}).check() ==
        "the key [1] must be a scalar (null, a boolean, a number or text)");
  CHECK(sample_from(Domain::SampleFunction()).check() == "the function is empty");
  CHECK(constant(nan).check() == "the value is nan, must be finite");
}

TEST_CASE("what looks alike but has another type may stand beside it", "[domain]") {
  CHECK(choice({1, 1.0, true, "1", nullptr}).check().empty());
  CHECK(choice({0.0, -0.0}).check().empty());
  CHECK(branch({{1, {}}, {"1", {}}, {true, {}}}).check().empty());
}

}  // namespace
}  // namespace tune
