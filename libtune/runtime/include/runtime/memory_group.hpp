#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <tune/error.hpp>

namespace tune::runtime {

class MemoryGroupParent;

/// A control group with a memory limit of its own, for a process and its children. Removed with the
/// object; members that are still alive then are killed.
class MemoryGroup {
 public:
  MemoryGroup() = default;  ///< No group.
  MemoryGroup(MemoryGroup&& other) noexcept;
  MemoryGroup& operator=(MemoryGroup&& other) noexcept;
  ~MemoryGroup();

  [[nodiscard]] bool exists() const { return !directory_.empty(); }
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

  /// Moves the calling process into the group. Async-signal-safe. @return 0, or the errno
  [[nodiscard]] int enter() const noexcept;

  /// True if the kernel has killed a member for memory. Where an old kernel does not count that (v1
  /// before Linux 4.13): if the limit was hit.
  [[nodiscard]] bool has_killed() const;

  /// Sends SIGKILL to all members.
  void kill_members() const;

 private:
  friend class MemoryGroups;

  std::shared_ptr<MemoryGroupParent> parent_;  // shared by its groups and MemoryGroups
  std::filesystem::path directory_;
  int members_ = -1;  // cgroup.procs, open for writing
};

/// Makes groups below this process's own group in one hierarchy. For one thread, as its groups are.
class MemoryGroups {
 public:
  MemoryGroups() = default;  ///< None can be made.

  /// Also removes groups that dead runs left behind.
  /// @return an error that says why no group can be made
  [[nodiscard]] static Expected<MemoryGroups> open_v1(const std::filesystem::path& root = "/");

  /// The same for v2. Where our own group has to give its controller to groups below it, and so may
  /// hold no process itself, the caller and the `movable` processes move into a group of their own
  /// until all groups are gone; if the group holds others too, that is an error.
  [[nodiscard]] static Expected<MemoryGroups> open_v2(const std::vector<pid_t>& movable = {},
                                                      const std::filesystem::path& root = "/");

  /// Empty if none can be made.
  [[nodiscard]] std::filesystem::path directory() const;

  /// @pre `open_v1` or `open_v2` made this
  [[nodiscard]] Expected<MemoryGroup> make(std::uint64_t bytes) const;

 private:
  std::shared_ptr<MemoryGroupParent> parent_;
};

}  // namespace tune::runtime
