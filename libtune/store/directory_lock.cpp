#include "store/directory_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <tune/json.hpp>

namespace tune::store {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Holder {
  std::string host;
  std::int64_t pid = 0;
  std::string since;
};

std::string host_of_this_machine() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

std::string utc_text(std::time_t time) {
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

Error lock_error(std::string_view what, const fs::path& path, int reason) {
  return {ErrorCode::io,
          std::string(what) + " " + path.string() + ": " + std::generic_category().message(reason)};
}

// Empty if it does not say, as for an instant after it was locked.
std::optional<Holder> read_holder(int file) {
  std::array<char, 1024> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  if (size <= 0) return {};
  const Json json = Json::parse(text.data(), text.data() + size, nullptr, false);
  if (!json.is_object() || !json.contains("host") || !json.contains("pid")) return {};
  return Holder{.host = json.value("host", ""),
                .pid = json.value("pid", std::int64_t{0}),
                .since = json.value("since", "")};
}

int write_holder(int file) {
  const Json json = {{"host", host_of_this_machine()},
                     {"pid", static_cast<std::int64_t>(::getpid())},
                     {"since", utc_text(std::time(nullptr))}};
  const std::string text = json.dump() + "\n";
  if (::ftruncate(file, 0) != 0) return errno;
  const ssize_t written = ::pwrite(file, text.data(), text.size(), 0);
  if (written < 0) return errno;
  return static_cast<std::size_t>(written) == text.size() ? 0 : ENOSPC;
}

bool has_died(const Holder& holder) {
  return holder.host == host_of_this_machine() && holder.pid > 0 &&
         ::kill(static_cast<pid_t>(holder.pid), 0) != 0 && errno == ESRCH;
}

Error refusal(const fs::path& directory, const std::optional<Holder>& holder) {
  std::string text = "experiment directory " + directory.string() + ": it is in use by ";
  if (holder) {
    text += "process " + std::to_string(holder->pid) + " on " + holder->host + " since " +
            holder->since;
    if (has_died(*holder)) text += ", which has died; what it started has not ended yet";
  } else {
    text += "a process that its " + std::string(lock_file) + " does not name";
  }
  return {ErrorCode::io, text};
}

// 0, EAGAIN if another has it, or what the system refused.
int try_lock(int file) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(file, F_OFD_SETLK, &lock) == 0) return 0;
  return errno == EACCES ? EAGAIN : errno;
}

}  // namespace

Expected<DirectoryLock> DirectoryLock::acquire(const fs::path& directory,
                                               std::chrono::milliseconds patience) {
  const fs::path path = directory / lock_file;
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return lock_error("cannot open", path, errno);
  DirectoryLock lock(file);
  const Clock::time_point deadline = Clock::now() + patience;
  int reason = 0;
  while ((reason = try_lock(file)) == EAGAIN) {
    const std::optional<Holder> holder = read_holder(file);
    const bool may_end_soon = !holder || has_died(*holder);
    if (!may_end_soon || Clock::now() >= deadline) return refusal(directory, holder);
    // No lock of this kind can be waited for with a limit.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (reason != 0) return lock_error("cannot lock", path, reason);
  if ((reason = write_holder(file)) != 0) return lock_error("cannot write", path, reason);
  return lock;
}

DirectoryLock::~DirectoryLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

bool is_locked(const fs::path& directory) {
  const int file = ::open((directory / lock_file).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool is_held = ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(file);
  return is_held;
}

}  // namespace tune::store
