#include "worker_exec.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace tune::runtime {
namespace {

/// All that the child needs between fork() and exec(), made before: there, in a process that may
/// have had several threads, only system calls are safe.
struct Plan {
  const char* program;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  WorkerDescriptors descriptors;
  std::uint64_t max_data_bytes;
  const char* cgroup_file;  // null: none
  cpu_set_t cores;
  bool has_cores;
  pid_t parent;
  int failure_pipe;
};

/// What failed in the child, in its pipe to the parent.
struct Failure {
  int error;
  std::array<char, 32> what;
};

[[noreturn]] void fail(const Plan& plan, const char* what) {
  Failure failure{errno, {}};
  for (std::size_t i = 0; i + 1 < failure.what.size() && what[i] != '\0'; ++i) {
    failure.what[i] = what[i];
  }
  [[maybe_unused]] const auto written = ::write(plan.failure_pipe, &failure, sizeof failure);
  ::_exit(127);
}

void reset_signals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void limit(const Plan& plan) {
  if (plan.cgroup_file != nullptr) {
    const int file = ::open(plan.cgroup_file, O_WRONLY | O_CLOEXEC);
    if (file < 0 || ::write(file, "0", 1) != 1) fail(plan, "cgroup");
    ::close(file);
  }
  if (plan.max_data_bytes != 0) {
    const rlimit limit{plan.max_data_bytes, plan.max_data_bytes};
    if (::setrlimit(RLIMIT_DATA, &limit) != 0) fail(plan, "setrlimit");
  }
  // Best effort: a core may have been taken from this machine meanwhile.
  if (plan.has_cores) ::sched_setaffinity(0, sizeof plan.cores, &plan.cores);
}

void place_descriptors(const Plan& plan) {
  // Copied above all targets first, so that none overwrites another.
  const int socket = ::fcntl(plan.descriptors.socket, F_DUPFD_CLOEXEC, inherited_socket + 1);
  const int out = ::fcntl(plan.descriptors.out, F_DUPFD_CLOEXEC, inherited_socket + 1);
  const int err = ::fcntl(plan.descriptors.err, F_DUPFD_CLOEXEC, inherited_socket + 1);
  if (::dup2(out, 1) < 0 || ::dup2(err, 2) < 0 || ::dup2(socket, inherited_socket) < 0) {
    fail(plan, "dup2");
  }
}

[[noreturn]] void become_worker(const Plan& plan) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(127);  // it died before that was set
  limit(plan);
  place_descriptors(plan);
  reset_signals();
  ::execve(plan.program, plan.arguments.data(), plan.environment.data());
  fail(plan, "exec");
}

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

/// The process's own environment, save what `changes` have, and then those.
std::vector<char*> merge_environment(std::vector<std::string>& changes) {
  std::vector<char*> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const bool is_changed =
        std::any_of(changes.begin(), changes.end(),
                    [&](const std::string& change) { return name_of(change) == name_of(*entry); });
    if (!is_changed) merged.push_back(*entry);
  }
  for (std::string& change : changes) merged.push_back(change.data());
  merged.push_back(nullptr);
  return merged;
}

}  // namespace

Expected<pid_t> start_worker(const char* program, const SpawnRequest& request,
                             const WorkerDescriptors& descriptors) {
  std::string name = "tune-worker";
  std::string argument = worker_argument;
  std::vector<std::string> changes = request.environment;
  changes.push_back(std::string(worker_variable) + "=" + std::to_string(request.id));
  const std::string cgroup_file = request.cgroup + "/cgroup.procs";
  DescriptorPair failure_pipe = make_pipe();

  Plan plan{};
  plan.program = program;
  plan.arguments = {name.data(), argument.data(), nullptr};
  plan.environment = merge_environment(changes);
  plan.descriptors = descriptors;
  plan.max_data_bytes = request.max_data_bytes;
  plan.cgroup_file = request.cgroup.empty() ? nullptr : cgroup_file.c_str();
  CPU_ZERO(&plan.cores);
  for (const int core : request.cores) CPU_SET(core, &plan.cores);
  plan.has_cores = !request.cores.empty();
  plan.parent = ::getpid();
  plan.failure_pipe = failure_pipe.second.get();

  const pid_t pid = ::fork();
  if (pid < 0) return Error{ErrorCode::io, std::string("fork: ") + std::strerror(errno)};
  if (pid == 0) become_worker(plan);
  ::setpgid(pid, pid);  // whoever comes first
  failure_pipe.second.reset();
  Failure failure{};
  if (::read(failure_pipe.first.get(), &failure, sizeof failure) != sizeof failure) return pid;
  ::waitpid(pid, nullptr, 0);
  return Error{ErrorCode::io,
               std::string(failure.what.data()) + ": " + std::strerror(failure.error)};
}

}  // namespace tune::runtime
