#include "runtime/memory_limit.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;

/// Makes a group and has a child enter it: permission to do the one is not enough for the other.
/// @return why it does not work; empty if it does
std::string fault_of(const MemoryGroups& groups) {
  constexpr std::uint64_t enough_for_a_fork = 256ULL << 20U;
  const Expected<MemoryGroup> group = groups.make(enough_for_a_fork);
  if (!group) return group.error().message;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(group->enter());
  if (child < 0) return std::generic_category().message(errno);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return std::generic_category().message(errno);
  }
  if (!WIFEXITED(status)) return "a process in " + group->directory().string() + " was killed";
  if (WEXITSTATUS(status) == 0) return {};
  return group->directory().string() + ": " + std::generic_category().message(WEXITSTATUS(status));
}

}  // namespace

int MemoryLimit::apply() const noexcept {
  if (group_.exists()) return group_.enter();
  return ::setrlimit(RLIMIT_DATA, &data_size_) == 0 ? 0 : errno;
}

bool MemoryLimit::has_killed() const { return group_.exists() && group_.has_killed(); }

void MemoryLimit::kill_members() const {
  if (group_.exists()) group_.kill_members();
}

MemoryLimiter::MemoryLimiter(const std::vector<pid_t>& movable, const fs::path& root) {
  std::string faults;
  for (const Way way : {Way::cgroup_v2, Way::cgroup_v1}) {
    const std::string name = way == Way::cgroup_v2 ? "cgroup v2" : "cgroup v1";
    Expected<MemoryGroups> groups =
        way == Way::cgroup_v2 ? MemoryGroups::open_v2(movable, root) : MemoryGroups::open_v1(root);
    const std::string fault = groups ? fault_of(*groups) : groups.error().message;
    if (fault.empty()) {
      way_ = way;
      groups_ = std::move(groups).value();
      description_ = "memory limit by " + name + ", in " + groups_.directory().string();
      return;
    }
    if (!faults.empty()) faults += "; ";
    faults.append(name).append(": ").append(fault);
  }
  description_ = "memory limit by RLIMIT_DATA, for each process by itself (" + faults + ")";
}

Expected<MemoryLimit> MemoryLimiter::limit(std::uint64_t bytes) const {
  TUNE_ASSERT(bytes > 0);
  if (way_ != Way::data_size) {
    Expected<MemoryGroup> group = groups_.make(bytes);
    if (!group) return group.error();
    return MemoryLimit(std::move(group).value());
  }
  rlimit data_size = {};
  if (::getrlimit(RLIMIT_DATA, &data_size) != 0) {
    return Error{ErrorCode::io, "RLIMIT_DATA: " + std::generic_category().message(errno)};
  }
  // Ours may have been bounded already, and only root can go above.
  data_size.rlim_max = std::min<rlim_t>(data_size.rlim_max, bytes);
  data_size.rlim_cur = std::min(data_size.rlim_cur, data_size.rlim_max);
  return MemoryLimit(data_size);
}

}  // namespace tune::runtime
