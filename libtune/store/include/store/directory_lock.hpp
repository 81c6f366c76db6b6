#pragma once

#include <chrono>
#include <filesystem>

#include <tune/error.hpp>

namespace tune::store {

/// The name of the file by which an experiment's directory is locked.
inline constexpr const char* lock_file = "experiment.lock";

/// One driver at a time: while there is one, no other of the same directory can be had, in this
/// process or in another.
///
/// An OFD lock, fcntl(2), on a file that says who holds it. It goes with the last descriptor of
/// that opening of the file, so the lock of a process that died blocks nobody, unless it handed its
/// descriptor on. The file stays: to remove it would let two hold a lock of the same name.
class DirectoryLock {
 public:
  /// Waits up to `patience` for one whose holder, a process of this machine, has died: what was
  /// handed its descriptor is expected to end soon. Of one that lives it is told at once.
  /// The error names the directory and the holder, or what the system refused.
  [[nodiscard]] static Expected<DirectoryLock> acquire(const std::filesystem::path& directory,
                                                       std::chrono::milliseconds patience);
  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;

  /// Of the file. A process that gets it, by a fork or over a socket, holds the lock as well. It is
  /// closed by an exec.
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  explicit DirectoryLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;  // -1: moved from
};

/// Whether somebody holds the lock of a directory. Takes nothing and changes nothing; false as well
/// if there is no lock file, or it cannot be read.
[[nodiscard]] bool is_locked(const std::filesystem::path& directory);

}  // namespace tune::store
