#pragma once

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

extern char** environ;

namespace tune::test {

/// A program that a test started. Its standard output is read here, its standard error goes to a
/// file; it is killed with the object.
class ProgramRun {
 public:
  ProgramRun(const std::vector<std::string>& command, std::filesystem::path error_file)
      : error_file_(std::move(error_file)) {
    int in[2];
    int out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) fail("pipe");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, error_file_.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0666);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    errno = ::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
    if (errno != 0) fail("posix_spawn " + command.front());
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    in_ = in[1];
    out_ = ::fdopen(out[0], "r");
    wait_for_environment();
  }
  ~ProgramRun() {
    if (!has_ended_) {
      kill();
      wait();
    }
    close_input();
    std::fclose(out_);
  }
  ProgramRun(const ProgramRun&) = delete;
  ProgramRun& operator=(const ProgramRun&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void kill() const { ::kill(pid_, SIGKILL); }
  /// Whether it has ended by itself, or was killed.
  [[nodiscard]] bool has_ended() const {
    siginfo_t info{};
    return has_ended_ ||
           (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == pid_);
  }
  void close_input() {
    if (in_ >= 0) ::close(std::exchange(in_, -1));
  }
  /// The next line that it prints; empty at its end.
  std::string read_line() {
    std::string line;
    for (int c = 0; (c = std::fgetc(out_)) != EOF && c != '\n';) line += static_cast<char>(c);
    return line;
  }
  /// Waits for its end: its exit code, or minus the signal that ended it.
  int wait() {
    if (has_ended_) return end_;
    int status = 0;
    if (::waitpid(pid_, &status, 0) != pid_) fail("waitpid");
    has_ended_ = true;
    end_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return end_;
  }
  [[nodiscard]] const std::filesystem::path& error_file() const { return error_file_; }

 private:
  [[noreturn]] static void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
  }

  /// posix_spawn() returns a moment before the kernel shows the new program's environment, by which
  /// tests find what belongs to them.
  void wait_for_environment() const {
    const std::string file = "/proc/" + std::to_string(pid_) + "/environ";
    while (!has_ended() && std::ifstream(file).peek() == EOF) ::sched_yield();
  }

  std::filesystem::path error_file_;
  pid_t pid_ = 0;
  int in_ = -1;
  std::FILE* out_ = nullptr;
  bool has_ended_ = false;
  int end_ = 0;
};

}  // namespace tune::test
