#include "signal_watch.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/descriptor.hpp"

namespace tune::runtime {
namespace {

constexpr std::array<int, 2> interrupts = {SIGINT, SIGTERM};
constexpr std::array<int, 2> harmless = {SIGHUP, SIGPIPE};

// What a signal handler may touch.
std::atomic<int> first_signal{0};
std::atomic<int> wake_descriptor{-1};
std::atomic<bool> has_terminal{false};

/// Everything else there is about signals: they belong to the whole process.
struct Watchers {
  std::mutex mutex;  // guards all below
  std::vector<const std::function<void(int)>*> callbacks;
  std::vector<std::pair<int, struct sigaction>> replaced;  // actions to give back
  Descriptor event;
  std::thread thread;
  bool is_ending = false;
};

Watchers& watchers() {
  static Watchers watchers;
  return watchers;
}

[[noreturn]] void end_at_once(int signal) {
  // Takes off what a progress display has left below the cursor.
  constexpr std::string_view erase = "\x1b[J";
  if (has_terminal) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, erase.data(), erase.size());
  }
  ::_exit(128 + signal);  // the guardian process sees it, and ends all workers
}

void on_interrupt(int signal) {
  const int error = errno;
  int none = 0;
  if (!first_signal.compare_exchange_strong(none, signal)) end_at_once(signal);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_descriptor, &one, sizeof one);
  errno = error;
}

void do_nothing(int) {}

// Of survive_group_signal().
std::atomic<pid_t> protected_process{0};
std::atomic<pid_t> its_parent{0};
std::atomic<bool> has_survived{false};

void on_group_signal(int signal, siginfo_t* info, void*) {
  const pid_t sender = info->si_pid;
  // A process that the training code forked has this handler, too, and is as any other.
  const bool is_protected = ::getpid() == protected_process;
  const bool is_meant = sender == protected_process || sender == its_parent;
  if (is_protected && !is_meant && !has_survived.exchange(true)) return;
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(signal, &standard, nullptr);
  ::raise(signal);  // comes once this handler has returned
}

/// Installs a handler where the system's own would act.
template <std::size_t count>
void replace_default(const std::array<int, count>& signals, void (*handler)(int)) {
  for (const int signal : signals) {
    struct sigaction old {};
    ::sigaction(signal, nullptr, &old);
    if ((old.sa_flags & SA_SIGINFO) != 0 || old.sa_handler != SIG_DFL) continue;
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
    watchers().replaced.emplace_back(signal, old);
  }
}

void give_back() {
  for (const auto& [signal, old] : std::exchange(watchers().replaced, {})) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    const bool is_ours = now.sa_handler == on_interrupt || now.sa_handler == do_nothing;
    if (is_ours) ::sigaction(signal, &old, nullptr);
  }
}

/// The body of the watchers' thread.
void pass_on_signals() {
  Watchers& all = watchers();
  bool is_told = false;
  while (true) {
    pollfd entry{wake_descriptor, POLLIN, 0};
    ::poll(&entry, 1, -1);
    const std::lock_guard lock(all.mutex);
    clear_event(all.event);
    if (all.is_ending) return;
    if (first_signal == 0 || std::exchange(is_told, true)) continue;
    for (const auto* callback : all.callbacks) (*callback)(first_signal);
  }
}

void start_watching() {
  Watchers& all = watchers();
  all.event = make_event();
  all.is_ending = false;
  wake_descriptor = all.event.get();
  first_signal = 0;
  has_terminal = ::isatty(STDERR_FILENO) != 0;
  all.thread = std::thread(pass_on_signals);
  replace_default(interrupts, on_interrupt);
  replace_default(harmless, do_nothing);
}

}  // namespace

SignalWatch::SignalWatch(std::function<void(int)> on_signal) : on_signal_(std::move(on_signal)) {
  Watchers& all = watchers();
  const std::lock_guard lock(all.mutex);
  if (all.callbacks.empty()) start_watching();
  all.callbacks.push_back(&on_signal_);
  // One that came before: the others have been told.
  if (all.callbacks.size() > 1 && first_signal != 0) on_signal_(first_signal);
}

SignalWatch::~SignalWatch() { (void)end(); }

int SignalWatch::end() {
  if (!on_signal_) return 0;
  Watchers& all = watchers();
  std::thread thread;
  {
    const std::lock_guard lock(all.mutex);
    std::erase(all.callbacks, &on_signal_);
    on_signal_ = nullptr;
    if (!all.callbacks.empty()) return 0;
    give_back();
    all.is_ending = true;
    signal_event(all.event);
    thread = std::move(all.thread);
  }
  thread.join();
  return first_signal;
}

void survive_group_signal(pid_t parent) {
  protected_process = ::getpid();
  its_parent = parent;
  struct sigaction action {};
  action.sa_sigaction = on_group_signal;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  for (const int signal : interrupts) ::sigaction(signal, &action, nullptr);
}

void disarm_sigpipe() {
  struct sigaction action {};
  action.sa_handler = do_nothing;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPIPE, &action, nullptr);
}

}  // namespace tune::runtime
