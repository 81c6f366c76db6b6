#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tune::runtime {

/// What a worker process is bound to for all of its life: it serves only trials that want the same.
struct WorkerBounds {
  std::vector<std::string> environment;  ///< NAME=value, beside or instead of the agent's own.
  std::vector<int> cores;                ///< To run on; empty: all of the agent's.
  std::uint64_t memory = 0;              ///< Bytes; 0: no limit.
  friend bool operator==(const WorkerBounds&, const WorkerBounds&) = default;
};

}  // namespace tune::runtime
