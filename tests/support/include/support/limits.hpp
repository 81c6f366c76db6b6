#pragma once

#include <cstdint>
#include <limits>

namespace tune::test {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

}  // namespace tune::test
