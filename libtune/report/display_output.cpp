#include "report/display_output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <ctime>

namespace tune::report {
namespace {

// What waits for a slow reader; beyond it something is lost, but no memory.
constexpr std::size_t max_waiting_bytes = std::size_t{256} * 1024;
// Of a descriptor that could block, so much is written where poll() sees room.
constexpr std::size_t cautious_bytes = 512;

/// While it lives, this thread's writes raise no SIGPIPE that anybody would see.
class NoBrokenPipeSignal {
 public:
  NoBrokenPipeSignal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &previous_);
  }
  ~NoBrokenPipeSignal() {
    if (!was_pending_) {
      const timespec at_once{};
      while (::sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
  }
  NoBrokenPipeSignal(const NoBrokenPipeSignal&) = delete;
  NoBrokenPipeSignal& operator=(const NoBrokenPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t previous_{};
  bool was_pending_ = false;
};

bool can_be_written(int descriptor, int wait_ms) {
  pollfd waited{descriptor, POLLOUT, 0};
  return ::poll(&waited, 1, wait_ms) == 1 && (waited.revents & POLLNVAL) == 0;
}

}  // namespace

DisplayOutput::~DisplayOutput() = default;

DescriptorOutput::DescriptorOutput(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return;
  is_terminal_ = ::isatty(descriptor) == 1;
  if (is_terminal_ || S_ISFIFO(status.st_mode)) {
    // Opened anew, so that it is non-blocking for us alone.
    const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    has_own_mode_ = descriptor_ >= 0;
  }
  if (descriptor_ < 0) descriptor_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
}

DescriptorOutput::~DescriptorOutput() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

WindowSize DescriptorOutput::size() const {
  winsize window{};
  WindowSize size;
  if (descriptor_ >= 0 && ::ioctl(descriptor_, TIOCGWINSZ, &window) == 0) {
    if (window.ws_col > 0) size.columns = window.ws_col;
    if (window.ws_row > 0) size.rows = window.ws_row;
  }
  return size;
}

// A job in the background that writes to its terminal may be stopped, and disturbs in any case.
bool DescriptorOutput::is_in_background() const {
  if (!is_terminal_) return false;
  const pid_t foreground = ::tcgetpgrp(descriptor_);
  return foreground > 0 && foreground != ::getpgrp();
}

bool DescriptorOutput::is_ready() {
  if (descriptor_ < 0 || is_in_background()) return false;
  flush();
  return descriptor_ >= 0 && waiting_.empty() && can_be_written(descriptor_, 0);
}

void DescriptorOutput::write(std::string_view text) {
  if (descriptor_ < 0 || waiting_.size() + text.size() > max_waiting_bytes) return;
  waiting_ += text;
  if (!is_in_background()) flush();
}

void DescriptorOutput::flush() {
  const NoBrokenPipeSignal guard;
  while (descriptor_ >= 0 && !waiting_.empty()) {
    std::size_t size = waiting_.size();
    if (!has_own_mode_) {
      if (!can_be_written(descriptor_, 0)) return;
      if (is_terminal_) size = std::min(size, cautious_bytes);
    }
    ssize_t written = ::send(descriptor_, waiting_.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (written < 0 && errno == ENOTSOCK) written = ::write(descriptor_, waiting_.data(), size);
    if (written > 0) {
      waiting_.erase(0, static_cast<std::size_t>(written));
    } else if (written < 0 && errno == EINTR) {
      continue;
    } else if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return;
    } else {
      give_up();
    }
  }
}

void DescriptorOutput::finish(std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds slice(20);
  flush();
  for (; patience.count() > 0 && descriptor_ >= 0 && !waiting_.empty(); patience -= slice) {
    if (is_in_background()) return;
    if (can_be_written(descriptor_, static_cast<int>(slice.count()))) flush();
  }
}

void DescriptorOutput::give_up() {
  ::close(descriptor_);
  descriptor_ = -1;
  waiting_.clear();
}

DisplayStyle choose_display_style(bool is_terminal,
                                  const std::function<const char*(const char*)>& variable) {
  const auto text = [&](const char* name) {
    const char* const value = variable(name);
    return std::string(value != nullptr ? value : "");
  };
  DisplayStyle style;
  const std::string term = text("TERM");
  const std::string ci = text("CI");
  style.redraws = is_terminal && !term.empty() && term != "dumb" && (ci.empty() || ci == "false");
  style.colors = style.redraws && text("NO_COLOR").empty() ? Colors::on : Colors::off;
  // As setlocale() would look for it.
  std::string locale = text("LC_ALL");
  if (locale.empty()) locale = text("LC_CTYPE");
  if (locale.empty()) locale = text("LANG");
  std::erase(locale, '-');
  std::transform(locale.begin(), locale.end(), locale.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (locale.find("utf8") != std::string::npos) style.charset = Charset::unicode;
  return style;
}

}  // namespace tune::report
