#include "worker_exec.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/grant_environment.hpp"

namespace tune::runtime {
namespace {

/// All that the child needs between fork() and exec(), made before: there, in a process that may
/// have had several threads, only system calls are safe.
struct Plan {
  const char* program;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  WorkerDescriptors descriptors;
  const MemoryLimit* memory;  // null: none
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
  // Until the worker has its own handlers: see survive_group_signal().
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &ignored, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void limit(const Plan& plan) {
  if (plan.memory != nullptr) {
    errno = plan.memory->apply();
    if (errno != 0) fail(plan, "memory limit");
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

/// Pointers to the characters of `strings`, and a null at the end.
std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::string worker_mark(std::uint64_t worker) {
  // With the guardian: a search within a trial has one of its own, and counts anew.
  return std::to_string(::getpid()) + "-" + std::to_string(worker);
}

Expected<pid_t> start_worker(const char* program, const SpawnRequest& request,
                             const WorkerDescriptors& descriptors, const MemoryLimit* memory) {
  std::string name = "tune-worker";
  std::string argument = worker_argument;
  std::vector<std::string> changes = request.bounds.environment;
  changes.push_back(std::string(worker_variable) + "=" + worker_mark(request.id));
  std::vector<std::string> environment = merged_environment(program_environment(), changes);
  DescriptorPair failure_pipe;
  try {
    failure_pipe = make_pipe();
  } catch (const std::system_error& error) {
    return Error{ErrorCode::io, error.what()};
  }

  Plan plan{};
  plan.program = program;
  plan.arguments = {name.data(), argument.data(), nullptr};
  plan.environment = pointers_to(environment);
  plan.descriptors = descriptors;
  plan.memory = memory;
  CPU_ZERO(&plan.cores);
  for (const int core : request.bounds.cores) CPU_SET(core, &plan.cores);
  plan.has_cores = !request.bounds.cores.empty();
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
