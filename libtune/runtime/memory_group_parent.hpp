#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include <tune/error.hpp>

#include "runtime/cgroups.hpp"

namespace tune::runtime {

/// Writes to a file of a control group. @return 0, or the errno
[[nodiscard]] int write_control(const std::filesystem::path& file, const std::string& text);

/// `path: the errno's text`.
[[nodiscard]] Error control_error(const std::filesystem::path& path, int reason);

/// The group in which groups for workers are made, and what has to be put back at the end.
class MemoryGroupParent {
 public:
  explicit MemoryGroupParent(const Cgroup& own);
  ~MemoryGroupParent();
  MemoryGroupParent(const MemoryGroupParent&) = delete;
  MemoryGroupParent& operator=(const MemoryGroupParent&) = delete;

  [[nodiscard]] int version() const { return version_; }
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

  /// v2: lets groups below have the memory controller.
  [[nodiscard]] Expected<void> delegate_memory(const std::vector<pid_t>& movable);

  /// Removes the groups of processes that are gone; those that still have members stay.
  void remove_stale() const;

  [[nodiscard]] Expected<std::filesystem::path> add();
  /// A group that still has members is removed later: they may be dying.
  void remove(const std::filesystem::path& group);

 private:
  [[nodiscard]] Expected<void> move_into_leaf(const std::vector<pid_t>& movable);
  void remove_leftovers();

  int version_;
  std::filesystem::path directory_;
  std::vector<std::filesystem::path> leftovers_;
  bool has_delegated_ = false;
  std::filesystem::path leaf_;  // where moved_ are; empty if nobody had to move
  std::vector<pid_t> moved_;
};

}  // namespace tune::runtime
