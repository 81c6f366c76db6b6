#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/descriptor.hpp"

namespace tune::runtime {

/// Writes what worker processes print into the files `stdout` and `stderr` of their trials, on a
/// thread of its own, as it comes.
///
/// Of a stream that grows too long the file keeps the head; the tail is kept in memory until the
/// trial has ended and follows then, behind a line that says how much was left out. A file that
/// cannot be written costs the output, never the trial. Safe from any thread; calls about one
/// worker take effect in their order.
class OutputPump {
 public:
  struct Options {
    std::uint64_t max_head_bytes = 16U << 20U;  ///< Of each file.
    std::size_t max_tail_bytes = 64U << 10U;    ///< Of each stream.
    /// If set, gets each line of output, with its end, behind "(<label>) " or "(<label> stderr) ".
    std::function<void(std::string_view)> show = {};
  };
  /// @throws std::system_error
  explicit OutputPump(Options options);
  OutputPump();
  /// Drops what was not read.
  ~OutputPump();
  OutputPump(const OutputPump&) = delete;
  OutputPump& operator=(const OutputPump&) = delete;

  /// Reads from a worker's pipes from now on; what comes outside of a trial is dropped.
  void add(std::uint64_t worker, Descriptor out, Descriptor err);
  /// What comes from then on belongs to the trial in `directory`, which is made if need be. Calls
  /// `ready` on the pump's thread: what came before it is dropped.
  void begin(std::uint64_t worker, std::filesystem::path directory, std::string label,
             std::function<void()> ready);
  /// Reads what the pipes hold, closes the trial's files, and calls `done` on the pump's thread
  /// with the last lines of its stderr: at most `max_lines`, without the newline at the end.
  void finish(std::uint64_t worker, std::function<void(std::string stderr_end)> done);
  /// Forgets the worker.
  void remove(std::uint64_t worker);

  static constexpr int max_lines = 20;

 private:
  class Thread;
  std::unique_ptr<Thread> thread_;
};

}  // namespace tune::runtime
