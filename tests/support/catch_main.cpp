#define CATCH_CONFIG_RUNNER
#include <cstdlib>

#include <catch2/catch.hpp>

#include "support/skip.hpp"

int main(int argc, char** argv) {
  using tune::test::skipped_exit_code;
  const int failures = Catch::Session().run(argc, argv);
  // Catch2 counts them in its exit code, and a failure must never pass for a skipped test.
  if (failures != 0) return failures == skipped_exit_code ? EXIT_FAILURE : failures;
  return tune::test::is_test_skipped() ? skipped_exit_code : EXIT_SUCCESS;
}
