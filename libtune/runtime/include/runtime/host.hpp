#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tune/resources.hpp>

namespace tune::runtime {

/// Who and where this process is, for the records.
struct Host {
  std::string name;
  std::string ip;  ///< The address of a network interface that is up; "127.0.0.1" if there is none.
  std::int64_t pid = 0;
};
[[nodiscard]] Host local_host();

/// What this machine offers to trials.
struct LocalMachine {
  ResourceAmounts capacity;
  /// UUIDs of all GPUs that were found, in their order. Empty where none was looked for, and where
  /// only CUDA knows of them.
  std::vector<std::string> gpus;
};

/// What is not given is discovered, as usable_machine() and GpuLibrary tell.
/// @throws std::invalid_argument as ResourceAmounts, and for more GPUs than were found, if any, or
/// than CUDA_VISIBLE_DEVICES lists, if it is set.
[[nodiscard]] LocalMachine local_machine(LocalResources local);

/// The UUIDs alone, as they are now.
[[nodiscard]] std::vector<std::string> found_gpus();

/// For people: how that was found which `local` leaves open and `request` asks too much of, such as
/// "8 cores in this process's affinity, 1.5 cpu by /sys/fs/cgroup/cpu.max"; empty if there is none.
[[nodiscard]] std::string explain_capacity(const LocalResources& local,
                                           const ResourceAmounts& request);

}  // namespace tune::runtime
