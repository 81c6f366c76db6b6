#pragma once

#include <cstdint>

namespace tune::test {

/// While there is one, all that SQLite writes in this process goes through it: it can make the n-th
/// write, sync, truncation or removal of a file fail, or the process die half-way through it. No
/// sync reaches the disk: that costs time, and only one who loses power sees the difference.
class FaultFileSystem {
 public:
  enum class Fault {
    io_error,
    disk_full,
    disk_full_from_then_on,  ///< As does each that follows.
    kill,                    ///< Half of it is written, then SIGKILL.
  };

  FaultFileSystem();
  ~FaultFileSystem();
  FaultFileSystem(const FaultFileSystem&) = delete;
  FaultFileSystem& operator=(const FaultFileSystem&) = delete;

  /// @pre `operation` is at least 1, the next one
  void arm(Fault fault, std::int64_t operation);
  void disarm();
  /// Whether there was an operation of that number since arm().
  [[nodiscard]] bool has_struck() const;
};

}  // namespace tune::test
