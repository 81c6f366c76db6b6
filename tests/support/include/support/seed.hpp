#pragma once

#include <cstdint>

namespace tune::test {

/// The seed of a randomised test: `fallback`, or TUNE_TEST_SEED from the environment to replay a
/// failure. Put it into the failure's text: `INFO("TUNE_TEST_SEED=" << seed)`.
[[nodiscard]] std::uint64_t test_seed(std::uint64_t fallback);

}  // namespace tune::test
