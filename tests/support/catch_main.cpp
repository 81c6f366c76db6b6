#define CATCH_CONFIG_RUNNER
#include "support/catch_main.hpp"

#include <cstdlib>

#include <catch2/catch.hpp>

#include "support/skip.hpp"

namespace tune::test {

int run_catch(int argc, char** argv) {
  const int failures = Catch::Session().run(argc, argv);
  // Catch2 counts them in its exit code, and a failure must never pass for a skipped test.
  if (failures != 0) return failures == skipped_exit_code ? EXIT_FAILURE : failures;
  return is_test_skipped() ? skipped_exit_code : EXIT_SUCCESS;
}

}  // namespace tune::test
