#include "memory_group_parent.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view group_prefix = "tune_";

/// When a process started, in clock ticks since boot: with its id this names it for good. 0 if
/// there is no such process.
std::int64_t start_time(std::int64_t pid) {
  const std::string text = read_control_file("/proc/" + std::to_string(pid) + "/stat").value_or("");
  const std::size_t end_of_name = text.rfind(')');  // the name may hold anything
  if (end_of_name == std::string::npos) return 0;
  const std::vector<std::string> fields = words_of(std::string_view(text).substr(end_of_name + 1));
  constexpr std::size_t place = 22 - 3;  // field 22 of proc(5); the first one here is field 3
  return fields.size() > place ? whole_number(fields[place]).value_or(0) : 0;
}

/// "tune_<pid>_<start time>_", the same for all groups of this process.
std::string own_prefix() {
  const std::int64_t pid = ::getpid();
  return std::string(group_prefix) + std::to_string(pid) + "_" + std::to_string(start_time(pid)) +
         "_";
}

bool is_stale(const std::string& name) {
  if (name.rfind(group_prefix, 0) != 0) return false;
  const std::string_view rest = std::string_view(name).substr(group_prefix.size());
  const std::size_t first = rest.find('_');
  if (first == std::string_view::npos) return false;
  const std::size_t second = rest.find('_', first + 1);
  if (second == std::string_view::npos) return false;
  const auto pid = whole_number(rest.substr(0, first));
  const auto start = whole_number(rest.substr(first + 1, second - first - 1));
  return pid && start && start_time(*pid) != *start;
}

bool has_word(const fs::path& file, std::string_view word) {
  const std::vector<std::string> words = words_of(read_control_file(file).value_or(""));
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

int write_control(const fs::path& file, const std::string& text) {
  // Creating is for made-up groups in plain folders: the kernel's let nobody create a file.
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return errno;
  const ssize_t written = ::write(descriptor, text.data(), text.size());
  const int reason = written < 0 ? errno : 0;
  ::close(descriptor);
  return reason;
}

Error control_error(const fs::path& path, int reason) {
  return {ErrorCode::io, path.string() + ": " + std::generic_category().message(reason)};
}

MemoryGroupParent::MemoryGroupParent(const Cgroup& own)
    : version_(own.version), directory_(own.directory) {}

MemoryGroupParent::~MemoryGroupParent() {
  remove_leftovers();
  if (has_delegated_) (void)write_control(directory_ / "cgroup.subtree_control", "-memory");
  if (leaf_.empty()) return;
  for (const pid_t pid : moved_) {
    (void)write_control(directory_ / "cgroup.procs", std::to_string(pid));
  }
  ::rmdir(leaf_.c_str());
}

Expected<void> MemoryGroupParent::delegate_memory(const std::vector<pid_t>& movable) {
  const fs::path control = directory_ / "cgroup.subtree_control";
  if (!has_word(directory_ / "cgroup.controllers", "memory")) {
    return Error{ErrorCode::not_found, directory_.string() + " has no memory controller"};
  }
  if (has_word(control, "memory")) return {};
  int reason = write_control(control, "+memory");
  if (reason == EBUSY) {
    if (Expected<void> moved = move_into_leaf(movable); !moved) return moved;
    reason = write_control(control, "+memory");
  }
  if (reason != 0) return control_error(control, reason);
  has_delegated_ = true;
  return {};
}

Expected<void> MemoryGroupParent::move_into_leaf(const std::vector<pid_t>& movable) {
  const fs::path members = directory_ / "cgroup.procs";
  std::vector<pid_t> pids;
  for (const std::string& word : words_of(read_control_file(members).value_or(""))) {
    const auto pid = static_cast<pid_t>(whole_number(word).value_or(0));
    const bool is_ours =
        pid == ::getpid() || std::find(movable.begin(), movable.end(), pid) != movable.end();
    if (!is_ours) {
      return Error{ErrorCode::io, directory_.string() + " holds other processes too, such as " +
                                      std::to_string(pid)};
    }
    pids.push_back(pid);
  }
  const fs::path leaf = directory_ / (own_prefix() + "main");
  if (::mkdir(leaf.c_str(), 0755) != 0) return control_error(leaf, errno);
  leaf_ = leaf;
  for (const pid_t pid : pids) {
    moved_.push_back(pid);
    const int reason = write_control(leaf / "cgroup.procs", std::to_string(pid));
    if (reason != 0 && reason != ESRCH) return control_error(leaf, reason);
  }
  return {};
}

void MemoryGroupParent::remove_stale() const {
  std::error_code error;
  std::vector<fs::path> stale;
  for (fs::directory_iterator entry(directory_, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_stale(entry->path().filename().string())) stale.push_back(entry->path());
  }
  for (const fs::path& group : stale) ::rmdir(group.c_str());
}

Expected<fs::path> MemoryGroupParent::add() {
  static std::atomic<std::uint64_t> next{0};
  remove_leftovers();
  const fs::path group = directory_ / (own_prefix() + std::to_string(next++));
  if (::mkdir(group.c_str(), 0755) != 0) return control_error(group, errno);
  return group;
}

void MemoryGroupParent::remove(const fs::path& group) {
  if (::rmdir(group.c_str()) != 0 && errno != ENOENT) leftovers_.push_back(group);
}

void MemoryGroupParent::remove_leftovers() {
  for (const fs::path& group : std::exchange(leftovers_, {})) remove(group);
}

}  // namespace tune::runtime
