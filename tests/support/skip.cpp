#include "support/skip.hpp"

#include <iostream>

namespace tune::test {
namespace {

bool skipped = false;

}  // namespace

void skip_test(const std::string& why) {
  skipped = true;
  std::cout << "skipped: " << why << std::endl;
}

bool is_test_skipped() { return skipped; }

}  // namespace tune::test
