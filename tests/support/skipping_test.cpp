#include <string>

#include <catch2/catch.hpp>

#include "support/skip.hpp"

namespace tune::test {
namespace {

TEST_CASE("skips") { skip_test("on purpose"); }

TEST_CASE("fails 77 times") {
  for (int i = 0; i < skipped_exit_code; ++i) CHECK(i < 0);
}

}  // namespace
}  // namespace tune::test
