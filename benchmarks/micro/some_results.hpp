#pragma once

#include <cstdint>
#include <string>

#include <tune/result.hpp>

namespace tune::bench {

/// A result with so many metrics, "metric_0" and on, whose values need all their digits.
[[nodiscard]] inline Result result_with(std::int64_t metrics, std::int64_t iteration = 1) {
  Result result;
  for (std::int64_t i = 0; i < metrics; ++i) {
    result.metrics.set("metric_" + std::to_string(i), 1 / static_cast<double>(i + iteration + 2));
  }
  result.training_iteration = iteration;
  result.time_this_iter_s = 0.1;
  result.time_total_s = 0.1 * static_cast<double>(iteration);
  result.timestamp = 1.7e9;
  return result;
}

}  // namespace tune::bench
