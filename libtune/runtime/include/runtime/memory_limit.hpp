#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <tune/error.hpp>

#include "runtime/memory_group.hpp"

namespace tune::runtime {

/// Bounds the memory of one worker process, from before its fork until after it was reaped. What of
/// it is alive when this goes is killed, as far as there is a group to know it by.
class MemoryLimit {
 public:
  /// Puts the calling process under the limit: in the child, between fork and exec.
  /// Async-signal-safe. @return 0, or the errno
  [[nodiscard]] int apply() const noexcept;

  /// True if the kernel has killed a process under this limit for its memory. Always false under a
  /// limit by RLIMIT_DATA, where memory is refused instead: malloc returns null, new throws.
  [[nodiscard]] bool has_killed() const;

  /// Sends SIGKILL to every process under this limit, as far as there is a group to know it by.
  void kill_members() const;

 private:
  friend class MemoryLimiter;
  explicit MemoryLimit(MemoryGroup group) : group_(std::move(group)) {}
  explicit MemoryLimit(rlimit data_size) : data_size_(data_size) {}

  MemoryGroup group_;  // none: by RLIMIT_DATA
  rlimit data_size_ = {};
};

/// Finds out how the memory of worker processes can be bounded here, and does it. For one thread.
///
/// Best by a control group for each worker, where we may make one (as root, or with the memory
/// controller of v2 delegated to us): the kernel then kills who takes more. It counts the memory
/// that is really used, of grandchildren and page cache too.
///
/// Else by RLIMIT_DATA, which bounds the private writable memory of each process by itself; who
/// asks for more is given none. Shared memory and mapped files are not counted. RLIMIT_AS would
/// count them, but also address space that is only reserved, and CUDA reserves more of it than any
/// limit one would set.
class MemoryLimiter {
 public:
  enum class Way { cgroup_v2, cgroup_v1, data_size };

  /// Tries the ways, best first, each with a child that enters the limit, and takes the first that
  /// works. Removes what dead runs left behind.
  /// @param movable see MemoryGroups::open_v2
  /// @param root below which /proc/self and the control groups are looked for
  explicit MemoryLimiter(const std::vector<pid_t>& movable = {},
                         const std::filesystem::path& root = "/");

  [[nodiscard]] Way way() const { return way_; }
  /// For people: "memory limit by cgroup v1, in /sys/fs/cgroup/memory"; for RLIMIT_DATA also why
  /// there can be no group.
  [[nodiscard]] const std::string& describe() const { return description_; }

  /// A limit of `bytes`, which the kernel rounds to pages, for one worker.
  /// @pre `bytes` is above 0
  [[nodiscard]] Expected<MemoryLimit> limit(std::uint64_t bytes) const;

 private:
  MemoryGroups groups_;
  Way way_ = Way::data_size;
  std::string description_;
};

}  // namespace tune::runtime
