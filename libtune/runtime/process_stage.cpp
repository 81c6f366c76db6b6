#include "runtime/process_stage.hpp"

#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

namespace tune::runtime {
namespace {

/// For what its workers leave behind to go. A guardian that still waits then is given up.
constexpr std::chrono::seconds guardian_wait{15};

}  // namespace

// Each worker costs a few descriptors, and the usual limit is meant for programs that use few.
void ProcessStage::raise_descriptor_limit() {
  constexpr rlim_t enough = 65536;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= enough) return;
  limit.rlim_cur = std::min(limit.rlim_max, enough);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

ProcessStage::~ProcessStage() {
  const auto deadline = std::chrono::steady_clock::now() + guardian_wait;
  for (const pid_t guardian : guardians_) {
    // A pause between two looks, since a wait cannot have an end; nearly always the first one is
    // it.
    while (::waitpid(guardian, nullptr, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > deadline) ::kill(guardian, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

Descriptor ProcessStage::start_guardian() {
  GuardianProcess guardian = runtime::start_guardian(lock_);
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
