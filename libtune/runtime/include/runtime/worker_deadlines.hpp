#pragma once

#include <chrono>
#include <optional>

#include "runtime/worker_times.hpp"

namespace tune::runtime {

/// The deadlines of a worker process and of the trial in it: for a step of the trial, for each of
/// the three steps of ending the process (being told so, SIGTERM, SIGKILL), and between the
/// process's end and its socket's. Pure: says what is due, and when to look again.
class WorkerDeadlines {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  enum class Due {
    other_end,  ///< Of process and socket one has ended, and the other has not.
    step,       ///< The trial has made no step.
    terminate,  ///< The process was told to end, and has not: it gets SIGTERM.
    kill,       ///< It has not ended at that either: begin_killing().
    give_up,    ///< It is not gone long after SIGKILL.
  };
  /// From SIGKILL to the report that the process is gone. One that waits for a dead disk or driver
  /// may never go.
  static constexpr std::chrono::seconds kill_wait{15};

  WorkerDeadlines() = default;
  explicit WorkerDeadlines(const WorkerTimes& times) : times_(times) {}

  /// Another process: nothing of the last one counts.
  void begin_process();
  /// It is told to end; `cause`: " of being told to". Nothing if it is on its way to the end.
  void begin_ending(Time now, const char* cause);
  /// It gets SIGKILL. False if it has got that.
  [[nodiscard]] bool begin_killing(Time now);
  /// The trial has ended by itself: the process need not end for it any more.
  void on_trial_end();
  void on_exit();
  /// The trial is at work: it has a new step_timeout, if there is one.
  void await_step(Time now);
  void forget_step() { step_.reset(); }
  void await_other_end(Time now);
  [[nodiscard]] bool waits_for_other_end() const { return other_end_.has_value(); }
  /// Of the first begin_ending().
  [[nodiscard]] const char* end_cause() const { return end_cause_; }

  /// A timer has come. False if it comes so late that this process stood still, under Ctrl-Z say:
  /// what workers told meanwhile waits to be heard first.
  [[nodiscard]] bool wake(Time now);
  /// One of those that are due.
  [[nodiscard]] std::optional<Due> take_due(Time now);
  /// In which time the next timer shall come, unless one is set that comes before.
  [[nodiscard]] std::optional<Clock::duration> set_timer(Time now);

 private:
  enum class Ending { no, told, terminated, killed };
  Due take_next_of_ending(Time now);
  [[nodiscard]] std::optional<Time> earliest() const;

  WorkerTimes times_;
  Ending ending_ = Ending::no;
  const char* end_cause_ = "";
  std::optional<Time> next_of_ending_;
  std::optional<Time> step_;
  std::optional<Time> other_end_;
  std::optional<Time> timer_;  // the one that is set
  bool was_late_ = false;      // the last one
  Time not_before_;            // then
};

}  // namespace tune::runtime
