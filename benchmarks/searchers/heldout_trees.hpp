#pragma once

#include "benchmarks/problem.hpp"

namespace tune::bench {

/// Four choices below each other; two parameters have one name in two branches each, with other
/// best values.
[[nodiscard]] Problem deep_tree();
/// Two choices beside each other, of which each has its best key only with the right one of the
/// other.
[[nodiscard]] Problem twin_tree();

}  // namespace tune::bench
