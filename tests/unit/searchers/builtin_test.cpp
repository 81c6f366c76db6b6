#include <tune/searchers/builtin.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>

namespace tune {
namespace {

TEST_CASE("the built-in searchers are made by name", "[builtin]") {
  register_builtin_searchers();
  register_builtin_searchers();
  const std::vector<std::string> names = searcher_names();
  for (const std::string name :
       {"automatic", "random", "grid", "sobol", "halton", "cma_es", "evolution",
        "concurrency_limited", "repeated", "tpe", "bohb", "gp"}) {
    CHECK(std::count(names.begin(), names.end(), name) == 1);
    CHECK(make_searcher(name)->options().at("name") == name);
    CHECK_THROWS_AS(make_searcher(name, {{"sede", 1}}), std::invalid_argument);
    CHECK_THROWS_WITH(make_searcher(name, {{"sede", 1}}),
                      Catch::StartsWith(name + ": unknown option \"sede\""));
  }
}

}  // namespace
}  // namespace tune
