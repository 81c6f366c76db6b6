#include "runtime/guardian.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "guardian_messages.hpp"
#include "runtime/memory_limit.hpp"
#include "worker_exec.hpp"

namespace tune::runtime {
namespace {

constexpr char own_program[] = "/proc/self/exe";

/// What a file of /proc holds; empty if its process is gone. Streams would throw then.
std::string read_proc(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> buffer{};
  while (file) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

/// The processes whose parent this one is.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  DIR* directory = ::opendir("/proc");
  if (directory == nullptr) return found;
  while (const dirent* entry = ::readdir(directory)) {
    const auto pid = static_cast<pid_t>(std::atol(entry->d_name));
    if (pid <= 0) continue;
    const std::string text = read_proc("/proc/" + std::to_string(pid) + "/stat");
    // The name in parentheses may hold anything; behind the last one: state, parent.
    const std::size_t end = text.rfind(')');
    if (end == std::string::npos || text.size() < end + 4) continue;
    if (std::atol(text.c_str() + end + 4) == ::getpid()) found.push_back(pid);
  }
  ::closedir(directory);
  return found;
}

/// The mark of the worker from which a process descends; empty if it hides that.
std::string worker_mark_of(pid_t pid) {
  const std::string entries = '\0' + read_proc("/proc/" + std::to_string(pid) + "/environ");
  const std::string wanted = '\0' + std::string(worker_variable) + "=";
  const std::size_t found = entries.find(wanted);
  if (found == std::string::npos) return {};
  return entries.c_str() + found + wanted.size();
}

Descriptor duplicate_above(int descriptor) {
  Descriptor copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, inherited_lock + 1));
  if (!copy) throw std::system_error(errno, std::generic_category(), "cannot copy a descriptor");
  return copy;
}

class Guardian {
 public:
  Guardian();
  /// Returns when the agent is gone.
  void serve();
  /// Kills all that descends from this process, and ends it.
  [[noreturn]] void end();

 private:
  [[nodiscard]] bool read_requests();
  void on(const SpawnRequest& request);
  [[nodiscard]] Expected<std::optional<MemoryLimit>> limit_memory(std::uint64_t bytes);
  void on(const KillRequest& request) const;
  void report(const GuardianReport& report);
  void send_reports();
  void reap();
  void kill_strays() const;

  struct Worker {
    std::uint64_t id = 0;
    std::optional<MemoryLimit> memory;
  };
  [[nodiscard]] MemoryEnd memory_end(const Worker& worker) const;

  FrameReader reader_;
  std::deque<Descriptor> received_;
  std::string outgoing_;                  // reports that the socket has not taken yet
  std::optional<MemoryLimiter> limiter_;  // once a worker wants it
  std::map<pid_t, Worker> workers_;
  Descriptor child_signals_;
  Descriptor agent_;  // readable once it is gone: its sockets may live on in a process it forked
};

Guardian::Guardian() {
  ::close_range(inherited_socket + 1, ~0U, 0);  // what the program had left open for its children
  ::setsid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "tune-guardian");
  ::signal(SIGCHLD, SIG_DFL);  // ignored, as it may be from before, children would vanish unseen
  agent_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, ::getppid(), 0)));
  // Ctrl-C and the like are the agent's business; its end is what ends the guardian.
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  child_signals_ = Descriptor(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  ::fcntl(inherited_socket, F_SETFD, FD_CLOEXEC);
}

void Guardian::serve() {
  while (true) {
    const short socket_events = outgoing_.empty() ? POLLIN : POLLIN | POLLOUT;
    std::array<pollfd, 3> entries{{{inherited_socket, socket_events, 0},
                                   {child_signals_.get(), POLLIN, 0},
                                   {agent_.get(), POLLIN, 0}}};
    // Now and then without a signal: a thread of a library, started before main(), may take it.
    const int timeout = workers_.empty() ? -1 : 1000;
    const int ready = ::poll(entries.data(), entries.size(), timeout);
    if (entries[1].revents != 0 || ready == 0) reap();
    if (entries[2].revents != 0) return;
    send_reports();
    if ((entries[0].revents & ~POLLOUT) != 0 && !read_requests()) return;
  }
}

bool Guardian::read_requests() {
  std::array<char, 16 * 1024> buffer{};
  Received received = receive(inherited_socket, buffer);
  if (received.bytes.empty()) return false;
  std::move(received.descriptors.begin(), received.descriptors.end(),
            std::back_inserter(received_));
  reader_.feed(received.bytes);
  while (true) {
    auto frame = reader_.next();
    if (!frame) return false;
    if (!*frame) return true;
    std::visit([this](const auto& request) { on(request); }, guardian_request_from_json(**frame));
  }
}

void Guardian::on(const SpawnRequest& request) {
  if (received_.size() < 3) return report(SpawnFailed{request.id, "no descriptors came with it"});
  std::array<Descriptor, 3> descriptors;
  for (Descriptor& descriptor : descriptors) {
    descriptor = std::move(received_.front());
    received_.pop_front();
  }
  Expected<std::optional<MemoryLimit>> memory = limit_memory(request.bounds.memory);
  if (!memory) return report(SpawnFailed{request.id, "memory limit: " + memory.error().message});
  const Expected<pid_t> pid = start_worker(
      own_program, request, {descriptors[0].get(), descriptors[1].get(), descriptors[2].get()},
      *memory ? &**memory : nullptr);
  if (!pid) return report(SpawnFailed{request.id, pid.error().message});
  workers_.emplace(*pid, Worker{request.id, std::move(*memory)});
  report(WorkerSpawned{request.id, *pid});
}

Expected<std::optional<MemoryLimit>> Guardian::limit_memory(std::uint64_t bytes) {
  if (bytes == 0) return std::optional<MemoryLimit>();
  if (!limiter_) {
    // Where our group may not hold processes beside those of the workers, the agent moves too.
    limiter_.emplace(std::vector<pid_t>{::getppid()});
    report(MemoryLimitFound{limiter_->describe()});
  }
  Expected<MemoryLimit> limit = limiter_->limit(bytes);
  if (!limit) return limit.error();
  return std::optional<MemoryLimit>(std::move(*limit));
}

MemoryEnd Guardian::memory_end(const Worker& worker) const {
  if (!worker.memory) return MemoryEnd::kept;
  if (limiter_->way() == MemoryLimiter::Way::data_size) return MemoryEnd::refused;
  return worker.memory->has_killed() ? MemoryEnd::killed : MemoryEnd::kept;
}

void Guardian::on(const KillRequest& request) const {
  // A worker that is in the list was not reaped yet, so that its number is still its own.
  for (const auto& [pid, worker] : workers_) {
    if (worker.id != request.id) continue;
    ::kill(-pid, request.signal);
    ::kill(pid, request.signal);  // it may have joined another group
  }
}

// Never waits: an agent that waits for the guardian to read would wait for ever.
void Guardian::report(const GuardianReport& report) {
  outgoing_ += encode_frame(to_json(report));
  send_reports();
}

void Guardian::send_reports() {
  while (!outgoing_.empty()) {
    const ssize_t sent =
        ::send(inherited_socket, outgoing_.data(), outgoing_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent <= 0) return;  // if the agent is gone, poll() tells
    outgoing_.erase(0, static_cast<std::size_t>(sent));
  }
}

void Guardian::reap() {
  signalfd_siginfo signal{};
  while (::read(child_signals_.get(), &signal, sizeof signal) > 0) {
  }
  int status = 0;
  while (true) {
    // Looked at first and reaped last: until then the number of the group is not given again.
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) break;
    const pid_t pid = info.si_pid;
    const auto worker = workers_.find(pid);
    if (worker != workers_.end()) ::kill(-pid, SIGKILL);  // what it started and left behind
    ::waitpid(pid, &status, 0);
    if (worker == workers_.end()) continue;
    const WorkerExited exited{worker->second.id, status, memory_end(worker->second)};
    workers_.erase(worker);
    kill_strays();
    report(exited);
  }
  kill_strays();
}

// Who lost its parent has become the guardian's child. Of a worker that lives it may stay.
void Guardian::kill_strays() const {
  for (const pid_t pid : children()) {
    if (workers_.contains(pid)) continue;
    const std::string mark = worker_mark_of(pid);
    const bool has_worker = std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
      return worker_mark(entry.second.id) == mark;
    });
    if (!has_worker) ::kill(pid, SIGKILL);
  }
}

void Guardian::end() {
  for (const auto& [pid, worker] : workers_) ::kill(-pid, SIGKILL);
  while (true) {
    // Each that dies hands its own children on to the guardian: again, until there is none.
    for (const pid_t pid : children()) ::kill(pid, SIGKILL);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) break;
    pollfd child{child_signals_.get(), POLLIN, 0};
    ::poll(&child, 1, 10);
    signalfd_siginfo signal{};
    [[maybe_unused]] const auto read = ::read(child_signals_.get(), &signal, sizeof signal);
  }
  // Control groups can be removed only now that nobody is in them.
  workers_.clear();
  limiter_.reset();
  ::_exit(0);
}

}  // namespace

GuardianProcess start_guardian(int lock) {
  DescriptorPair ends = make_socket_pair();
  // Out of the way of the numbers that they get.
  ends.second = duplicate_above(ends.second.get());
  const Descriptor held = lock < 0 ? Descriptor() : duplicate_above(lock);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends.second.get(), inherited_socket);
  if (held) ::posix_spawn_file_actions_adddup2(&actions, held.get(), inherited_lock);
  std::string program = own_program;
  std::string argument = guardian_argument;
  std::array<char*, 3> arguments{program.data(), argument.data(), nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, own_program, &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw std::system_error(error, std::generic_category(), "cannot start the guardian process");
  }
  return {std::move(ends.first), pid};
}

void serve_guardian() {
  ::fcntl(inherited_lock, F_SETFD, FD_CLOEXEC);  // the workers have no part in it
  Guardian guardian;
  try {
    guardian.serve();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tune: guardian: %s\n", error.what());
  }
  guardian.end();  // the agent hears of it
}

}  // namespace tune::runtime
