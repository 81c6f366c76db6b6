#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/guardian.hpp"
#include "runtime/output_pump.hpp"

namespace tune::runtime {

/// What the worker processes of one agent share, and what must outlive its actors. Safe from any
/// thread.
class ProcessStage {
 public:
  /// `lock`: see runtime::start_guardian(); it must outlive the object.
  explicit ProcessStage(OutputPump::Options output = {}, int lock = -1)
      : pump_(std::move(output)), lock_(lock) {
    raise_descriptor_limit();
  }
  /// Waits until every guardian has ended. Their sockets must be closed by then.
  ~ProcessStage();
  ProcessStage(const ProcessStage&) = delete;
  ProcessStage& operator=(const ProcessStage&) = delete;

  /// The agent's end of a new guardian's socket. @throws std::system_error
  [[nodiscard]] Descriptor start_guardian();
  [[nodiscard]] OutputPump& pump() { return pump_; }
  /// For a process that was not there before.
  [[nodiscard]] std::uint64_t next_process_id() { return ++last_process_id_; }
  /// Something to tell the user at the end.
  void warn(std::string text);
  [[nodiscard]] std::vector<std::string> take_warnings();

 private:
  static void raise_descriptor_limit();

  OutputPump pump_;
  const int lock_;
  std::atomic<std::uint64_t> last_process_id_{0};
  std::mutex mutex_;  // guards all below
  std::vector<pid_t> guardians_;
  std::vector<std::string> warnings_;
};

}  // namespace tune::runtime
