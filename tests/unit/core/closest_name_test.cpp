#include "core/closest_name.hpp"

#include <catch2/catch.hpp>

namespace tune::core {
namespace {

const std::vector<std::string> names = {"name", "num-samples", "max-concurrent", "max-failures",
                                        "seed"};

TEST_CASE("the closest name is the one that differs in the fewest letters", "[closest_name]") {
  CHECK(closest_name("nam", names) == "name");
  CHECK(closest_name("seeed", names) == "seed");
  CHECK(closest_name("num_samples", names) == "num-samples");
  CHECK(closest_name("max-failure", names) == "max-failures");
  CHECK(closest_name("seed", names) == "seed");
  CHECK(closest_name("abd", {"abc", "abe"}) == "abc");
}

TEST_CASE("a part of one name alone is enough", "[closest_name]") {
  CHECK(closest_name("samples", names) == "num-samples");
  CHECK(closest_name("concurrent", names) == "max-concurrent");
  CHECK(closest_name("max", names).empty());
}

TEST_CASE("what is not close has no closest name", "[closest_name]") {
  CHECK(closest_name("storage", names).empty());
  CHECK(closest_name("na", names).empty());
  CHECK(closest_name("", names).empty());
  CHECK(closest_name("name", {}).empty());
}

}  // namespace
}  // namespace tune::core
