#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include <tune/error.hpp>

#include "runtime/guardian.hpp"
#include "runtime/memory_limit.hpp"

namespace tune::runtime {

/// What a worker finds as its stdout, stderr and inherited_socket.
struct WorkerDescriptors {
  int socket = -1;
  int out = -1;
  int err = -1;
};

/// What stands under worker_variable in the environment of a worker of this guardian.
[[nodiscard]] std::string worker_mark(std::uint64_t worker);

/// Starts `program` as a worker, a child of the calling process that dies with it: with a process
/// group of its own, default signal handling, and environment and cores as requested.
/// @param memory for a request that has one; may be null
[[nodiscard]] Expected<pid_t> start_worker(const char* program, const SpawnRequest& request,
                                           const WorkerDescriptors& descriptors,
                                           const MemoryLimit* memory);

}  // namespace tune::runtime
