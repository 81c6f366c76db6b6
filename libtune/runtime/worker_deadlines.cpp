#include "runtime/worker_deadlines.hpp"

#include <algorithm>
#include <utility>

namespace tune::runtime {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr Seconds longest_wait{10.0 * 365 * 24 * 3600};
/// A worker's end and that of its socket come together, unless somebody else holds the socket or
/// the worker has closed it.
constexpr std::chrono::seconds other_end_wait{2};
constexpr std::chrono::seconds late_timer{1};

WorkerDeadlines::Clock::duration clock_time(Seconds seconds) {
  return std::chrono::duration_cast<WorkerDeadlines::Clock::duration>(
      std::min(seconds, longest_wait));
}

}  // namespace

void WorkerDeadlines::begin_process() {
  ending_ = Ending::no;
  end_cause_ = "";
  next_of_ending_.reset();
  other_end_.reset();
}

void WorkerDeadlines::begin_ending(Time now, const char* cause) {
  if (ending_ != Ending::no) return;
  ending_ = Ending::told;
  end_cause_ = cause;
  next_of_ending_ = now + clock_time(times_.stop_grace);
}

bool WorkerDeadlines::begin_killing(Time now) {
  if (std::exchange(ending_, Ending::killed) == Ending::killed) return false;
  next_of_ending_ = now + kill_wait;
  return true;
}

void WorkerDeadlines::on_trial_end() {
  ending_ = Ending::no;
  next_of_ending_.reset();
  step_.reset();
}

void WorkerDeadlines::on_exit() {
  next_of_ending_.reset();
  step_.reset();
}

void WorkerDeadlines::await_step(Time now) {
  step_.reset();
  if (times_.step_timeout.count() > 0) step_ = now + clock_time(times_.step_timeout);
}

void WorkerDeadlines::await_other_end(Time now) { other_end_ = now + other_end_wait; }

bool WorkerDeadlines::wake(Time now) {
  const bool is_late = timer_ && now - *timer_ > late_timer;
  timer_.reset();
  was_late_ = is_late && !was_late_;
  not_before_ = was_late_ ? now + late_timer : now;
  return !was_late_;
}

std::optional<WorkerDeadlines::Due> WorkerDeadlines::take_due(Time now) {
  const auto take = [now](std::optional<Time>& deadline) {
    if (!deadline || *deadline > now) return false;
    deadline.reset();
    return true;
  };
  if (take(other_end_)) return Due::other_end;
  if (take(step_)) return Due::step;
  if (take(next_of_ending_)) return take_next_of_ending(now);
  return std::nullopt;
}

WorkerDeadlines::Due WorkerDeadlines::take_next_of_ending(Time now) {
  if (ending_ == Ending::killed) return Due::give_up;
  if (ending_ == Ending::terminated) return Due::kill;
  ending_ = Ending::terminated;
  next_of_ending_ = now + clock_time(times_.kill_grace);
  return Due::terminate;
}

std::optional<WorkerDeadlines::Time> WorkerDeadlines::earliest() const {
  std::optional<Time> first;
  for (const auto& deadline : {next_of_ending_, step_, other_end_}) {
    if (deadline && (!first || *deadline < *first)) first = deadline;
  }
  return first;
}

// One timer at a time: each result moves the deadline of a step, and none of them costs a timer.
std::optional<WorkerDeadlines::Clock::duration> WorkerDeadlines::set_timer(Time now) {
  const std::optional<Time> first = earliest();
  if (!first) return std::nullopt;
  const Time at = std::max({*first, not_before_, now});
  if (timer_ && *timer_ <= at) return std::nullopt;
  timer_ = at;
  return at - now;
}

}  // namespace tune::runtime
