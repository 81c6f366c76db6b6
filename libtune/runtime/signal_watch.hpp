#pragma once

#include <sys/types.h>

#include <functional>

namespace tune::runtime {

/// While one of these lives, the first SIGINT or SIGTERM is told to all of them, and the second
/// ends the process at once; SIGHUP and SIGPIPE do nothing. A signal for which the program has a
/// handler of its own, or that is ignored, as under nohup, stays as it is.
class SignalWatch {
 public:
  /// `on_signal` is called once at most, on a thread of its own.
  explicit SignalWatch(std::function<void(int signal)> on_signal);
  /// Nothing is called any more. The last one gives the signals back.
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// Ends it. The signal that came, if no other one lives; else 0.
  [[nodiscard]] int end();

 private:
  std::function<void(int)> on_signal_;  // empty once it has ended
};

/// Lets SIGPIPE do nothing, for good: whoever writes to a closed pipe sees an error. Programs that
/// are started from here have it as ever.
void disarm_sigpipe();

/// In a worker process: the first SIGINT or SIGTERM that comes neither from this process nor from
/// `parent`, which started it, is not heeded. It is meant for all processes of a service or job at
/// once, and the one that leads them has it, too: it ends this worker once the trial is saved.
void survive_group_signal(pid_t parent);

}  // namespace tune::runtime
