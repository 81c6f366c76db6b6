#pragma once

#include <string>
#include <vector>

namespace tune::bench {

/// A figure, and the limit that was measured in the same run.
struct GpuRow {
  std::string name;
  double value = 0;
  std::string unit;
  double limit = 0;  ///< 0: none.
  std::string what_limits;
};

/// Every kernel at a size that fills a large GPU, against the copy bandwidth, and matrix products
/// against cuBLAS.
[[nodiscard]] std::vector<GpuRow> measure_kernels(bool is_quick);

}  // namespace tune::bench
