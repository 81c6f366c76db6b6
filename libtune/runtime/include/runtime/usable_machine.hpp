#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tune::runtime {

/// What of this machine the process may use.
struct UsableMachine {
  std::vector<int> cores;    ///< Ids, ascending: those of the affinity that all cpusets allow.
  std::int64_t cpu = 0;      ///< Thousandths: 1000 a core, or the smallest quota if that is less.
  std::uint64_t memory = 0;  ///< Bytes: the machine's, or the smallest limit; 0 if unknown.
  std::string cpu_quota;     ///< The file that bounds `cpu` below the cores; empty if none does.
  std::string memory_limit;  ///< The file that bounds `memory` below the machine's.
};

/// The cores in this thread's affinity, ascending; where that cannot be told, all there are.
[[nodiscard]] std::vector<int> affinity_cores();

/// The least of the cores in `affinity`, the machine's memory, and the limits of this process's
/// control groups of v1 and v2 and of all their parents. What cannot be read or makes no sense
/// bounds nothing. The files are those below `root`.
/// @pre `affinity` is not empty and ascending
[[nodiscard]] UsableMachine usable_machine(const std::vector<int>& affinity = affinity_cores(),
                                           const std::filesystem::path& root = "/");

}  // namespace tune::runtime
