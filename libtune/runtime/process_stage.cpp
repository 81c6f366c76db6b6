#include "runtime/process_stage.hpp"

#include <sys/wait.h>

#include <cerrno>
#include <utility>

namespace tune::runtime {

ProcessStage::~ProcessStage() {
  for (const pid_t guardian : guardians_) {
    while (::waitpid(guardian, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

Descriptor ProcessStage::start_guardian() {
  GuardianProcess guardian = runtime::start_guardian();
  const std::lock_guard lock(mutex_);
  guardians_.push_back(guardian.pid);
  return std::move(guardian.socket);
}

void ProcessStage::warn(std::string text) {
  const std::lock_guard lock(mutex_);
  warnings_.push_back(std::move(text));
}

std::vector<std::string> ProcessStage::take_warnings() {
  const std::lock_guard lock(mutex_);
  return std::exchange(warnings_, {});
}

}  // namespace tune::runtime
