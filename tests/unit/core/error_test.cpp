#include <tune/error.hpp>

#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

namespace tune {
namespace {

using Catch::Contains;

TEST_CASE("an Expected holds a value or says why there is none", "[error]") {
  Expected<std::string> value(std::string("text"));
  REQUIRE(value);
  CHECK(*value == "text");
  CHECK(value->size() == 4);

  const Expected<std::string> none(Error{ErrorCode::io, "cannot read /x"});
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().code == ErrorCode::io);
  CHECK_THROWS_WITH(none.value(), "cannot read /x");
  CHECK_THROWS_AS(*none, std::logic_error);

  CHECK(Expected<void>().has_value());
  const Expected<void> failed(Error{ErrorCode::io, "node 3 left"});
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message == "node 3 left");
}

TEST_CASE("a broken assertion names the condition and the place", "[error]") {
  const int answer = 41;
  CHECK_NOTHROW(TUNE_ASSERT(answer < 42));
  CHECK_THROWS_AS(TUNE_ASSERT(answer == 42), std::logic_error);
  CHECK_THROWS_WITH(TUNE_ASSERT(answer == 42),
                    Contains("answer == 42") && Contains("error_test.cpp:"));
}

TEST_CASE("InvalidConfig keeps its text", "[error]") {
  CHECK_THROWS_WITH(throw InvalidConfig("hidden must be even"), "hidden must be even");
}

}  // namespace
}  // namespace tune
