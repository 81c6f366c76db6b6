#pragma once

#include <string>

namespace tune::test {

/// What a test program returns where nothing failed and a test case was skipped; CTest then shows
/// the case as skipped.
constexpr int skipped_exit_code = 77;

/// Says that the running test case cannot test anything on this machine, and why. The case returns
/// after it.
void skip_test(const std::string& why);
[[nodiscard]] bool is_test_skipped();

}  // namespace tune::test
