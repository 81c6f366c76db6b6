#include "runtime/memory_group.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <optional>
#include <utility>

#include "memory_group_parent.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;

/// The number after `name` in lines of a name and a number.
std::optional<std::int64_t> count_in(const fs::path& file, std::string_view name) {
  const std::vector<std::string> words = words_of(read_control_file(file).value_or(""));
  const auto found = std::find(words.begin(), words.end(), name);
  if (found == words.end() || found + 1 == words.end()) return std::nullopt;
  return whole_number(*(found + 1));
}

struct GroupSetting {
  std::string_view file;
  std::string value;
  bool is_needed = false;  // else written where the kernel has it
};

std::vector<GroupSetting> group_settings(int version, std::uint64_t bytes) {
  const std::string limit = std::to_string(bytes);
  if (version == 2) {
    return {{"memory.max", limit, true}, {"memory.swap.max", "0"}, {"memory.oom.group", "1"}};
  }
  // Memory with swap may not be below memory: in this order.
  return {{"memory.limit_in_bytes", limit, true},
          {"memory.memsw.limit_in_bytes", limit},
          {"memory.swappiness", "0"},
          {"memory.oom_control", "0"}};
}

Expected<MemoryGroups> no_hierarchy(const std::string& which) {
  return Error{ErrorCode::not_found, "there is no " + which};
}

}  // namespace

MemoryGroup::MemoryGroup(MemoryGroup&& other) noexcept
    : parent_(std::move(other.parent_)),
      directory_(std::exchange(other.directory_, {})),
      members_(std::exchange(other.members_, -1)) {}

MemoryGroup& MemoryGroup::operator=(MemoryGroup&& other) noexcept {
  std::swap(parent_, other.parent_);
  std::swap(directory_, other.directory_);
  std::swap(members_, other.members_);
  return *this;
}

MemoryGroup::~MemoryGroup() {
  if (!exists()) return;
  if (members_ >= 0) ::close(members_);
  kill_members();
  parent_->remove(directory_);
}

int MemoryGroup::enter() const noexcept {
  return ::write(members_, "0", 1) == 1 ? 0 : errno;  // 0 is who writes
}

bool MemoryGroup::has_killed() const {
  if (parent_->version() == 2) {
    return count_in(directory_ / "memory.events", "oom_kill").value_or(0) > 0;
  }
  if (const auto kills = count_in(directory_ / "memory.oom_control", "oom_kill")) return *kills > 0;
  const std::string hits = read_control_file(directory_ / "memory.failcnt").value_or("");
  return whole_number(hits).value_or(0) > 0;
}

void MemoryGroup::kill_members() const {
  const std::string members = read_control_file(directory_ / "cgroup.procs").value_or("");
  for (const std::string& word : words_of(members)) {
    const auto pid = static_cast<pid_t>(whole_number(word).value_or(0));
    if (pid > 0 && pid != ::getpid()) ::kill(pid, SIGKILL);
  }
}

Expected<MemoryGroups> MemoryGroups::open_v1(const fs::path& root) {
  const std::optional<Cgroup> own = find_cgroup_v1("memory", root);
  if (!own) return no_hierarchy("v1 hierarchy with the memory controller");
  MemoryGroups groups;
  groups.parent_ = std::make_shared<MemoryGroupParent>(*own);
  groups.parent_->remove_stale();
  return groups;
}

Expected<MemoryGroups> MemoryGroups::open_v2(const std::vector<pid_t>& movable,
                                             const fs::path& root) {
  const std::optional<Cgroup> own = find_cgroup_v2(root);
  if (!own) return no_hierarchy("v2 hierarchy");
  MemoryGroups groups;
  groups.parent_ = std::make_shared<MemoryGroupParent>(*own);
  groups.parent_->remove_stale();
  if (const Expected<void> delegated = groups.parent_->delegate_memory(movable); !delegated) {
    return delegated.error();
  }
  return groups;
}

fs::path MemoryGroups::directory() const { return parent_ ? parent_->directory() : fs::path(); }

Expected<MemoryGroup> MemoryGroups::make(std::uint64_t bytes) const {
  TUNE_ASSERT(parent_ != nullptr);
  const Expected<fs::path> directory = parent_->add();
  if (!directory) return directory.error();
  MemoryGroup group;
  group.parent_ = parent_;
  group.directory_ = *directory;
  for (const GroupSetting& setting : group_settings(parent_->version(), bytes)) {
    const fs::path file = *directory / setting.file;
    const int reason = write_control(file, setting.value);
    if (reason != 0 && setting.is_needed) return control_error(file, reason);
  }
  const fs::path members = *directory / "cgroup.procs";
  group.members_ = ::open(members.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (group.members_ < 0) return control_error(members, errno);
  return group;
}

}  // namespace tune::runtime
