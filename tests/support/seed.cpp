#include "support/seed.hpp"

#include <cstdlib>
#include <string>

namespace tune::test {

std::uint64_t test_seed(std::uint64_t fallback) {
  const char* text = std::getenv("TUNE_TEST_SEED");
  return text == nullptr ? fallback : std::stoull(text);
}

}  // namespace tune::test
