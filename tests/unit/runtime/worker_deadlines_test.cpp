#include "runtime/worker_deadlines.hpp"

#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace tune::runtime {
namespace {

using Due = WorkerDeadlines::Due;
using Seconds = std::chrono::duration<double>;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto none = std::optional<Due>();

/// With a clock that is set by hand. Looks when the timers say, as a host does.
class WatchedDeadlines : public WorkerDeadlines {
 public:
  explicit WatchedDeadlines(const WorkerTimes& times) : WorkerDeadlines(times) {}

  /// What comes due until then.
  std::vector<Due> pass(Clock::duration time) {
    const Time end = now + time;
    std::vector<Due> all;
    set();
    while (timer_ && *timer_ <= end) {
      now = *timer_;
      timer_.reset();
      if (wake(now)) {
        while (const auto due = take_due(now)) {
          all.push_back(*due);
          if (*due == Due::kill) CHECK(begin_killing(now));
        }
      }
      set();
    }
    now = end;
    return all;
  }

  Time now = Time(seconds(1000));

 private:
  void set() {
    const auto time = set_timer(now);
    if (!time) return;
    CHECK((!timer_ || now + *time < *timer_));
    timer_ = now + *time;
  }
  std::optional<Time> timer_;
};

constexpr WorkerTimes times{Seconds(5), Seconds(3), Seconds(10)};

TEST_CASE("a process that does not end goes through the three steps", "[worker_deadlines]") {
  WatchedDeadlines deadlines(times);
  deadlines.begin_ending(deadlines.now, " of being told to");
  CHECK(deadlines.pass(milliseconds(4999)).empty());
  deadlines.begin_ending(deadlines.now, " of something else");  // it was told
  CHECK(deadlines.pass(milliseconds(1)) == std::vector{Due::terminate});
  CHECK(std::string(deadlines.end_cause()) == " of being told to");
  CHECK(deadlines.pass(milliseconds(2999)).empty());
  CHECK(deadlines.pass(milliseconds(1)) == std::vector{Due::kill});
  CHECK(deadlines.pass(milliseconds(14'999)).empty());
  CHECK(deadlines.pass(milliseconds(1)) == std::vector{Due::give_up});
  CHECK(deadlines.pass(seconds(1000)).empty());
}

TEST_CASE("one that ends at a step goes through no other", "[worker_deadlines]") {
  WatchedDeadlines deadlines(times);
  deadlines.begin_ending(deadlines.now, "");
  SECTION("the process") { deadlines.on_exit(); }
  SECTION("its trial, and the process is free for another") { deadlines.on_trial_end(); }
  SECTION("and another one takes its place") { deadlines.begin_process(); }
  CHECK(deadlines.pass(seconds(100)).empty());
  deadlines.begin_ending(deadlines.now, "");
  deadlines.begin_process();
  deadlines.begin_ending(deadlines.now, "");
  CHECK(deadlines.pass(seconds(5)) == std::vector{Due::terminate});
}

TEST_CASE("one that is killed at once gets no other signal", "[worker_deadlines]") {
  WatchedDeadlines deadlines(times);
  CHECK(deadlines.begin_killing(deadlines.now));
  CHECK_FALSE(deadlines.begin_killing(deadlines.now));
  deadlines.begin_ending(deadlines.now, "");
  CHECK(deadlines.pass(seconds(15)) == std::vector{Due::give_up});
}

TEST_CASE("each step of the trial has its time", "[worker_deadlines]") {
  WatchedDeadlines deadlines(times);
  for (int i = 0; i < 3; ++i) {
    deadlines.await_step(deadlines.now);
    CHECK(deadlines.pass(seconds(9)).empty());
  }
  deadlines.forget_step();
  CHECK(deadlines.pass(seconds(100)).empty());
  deadlines.await_step(deadlines.now);
  CHECK(deadlines.pass(seconds(10)) == std::vector{Due::step});
  CHECK(deadlines.pass(seconds(100)).empty());
}

TEST_CASE("without step_timeout a step may take for ever", "[worker_deadlines]") {
  WatchedDeadlines deadlines({Seconds(5), Seconds(3), Seconds(0)});
  deadlines.await_step(deadlines.now);
  CHECK(deadlines.pass(std::chrono::hours(1000)).empty());
}

TEST_CASE("a time that no clock has is one that does not come", "[worker_deadlines]") {
  const Seconds endless(std::numeric_limits<double>::infinity());
  WatchedDeadlines deadlines({endless, endless, endless});
  deadlines.await_step(deadlines.now);
  deadlines.begin_ending(deadlines.now, "");
  CHECK(deadlines.pass(std::chrono::hours(1000)).empty());
}

TEST_CASE("process and socket end together, or one is waited for", "[worker_deadlines]") {
  WatchedDeadlines deadlines(times);
  CHECK_FALSE(deadlines.waits_for_other_end());
  deadlines.await_other_end(deadlines.now);
  CHECK(deadlines.waits_for_other_end());
  CHECK(deadlines.pass(seconds(2)) == std::vector{Due::other_end});
  CHECK_FALSE(deadlines.waits_for_other_end());
}

TEST_CASE("after a stand-still workers are heard first", "[worker_deadlines]") {
  WorkerDeadlines deadlines(times);
  auto now = WorkerDeadlines::Time(seconds(1000));
  deadlines.await_step(now);
  CHECK(deadlines.set_timer(now) == seconds(10));
  now += seconds(3600);
  CHECK_FALSE(deadlines.wake(now));
  CHECK(deadlines.set_timer(now) == seconds(1));
  SECTION("and one that made a step meanwhile has its full time") {
    deadlines.await_step(now);
    now += seconds(1);
    CHECK(deadlines.wake(now));
    CHECK(deadlines.take_due(now) == none);
    CHECK(deadlines.set_timer(now) == seconds(9));
  }
  SECTION("but not for ever") {
    now += seconds(3600);
    CHECK(deadlines.wake(now));
    CHECK(deadlines.take_due(now) == Due::step);
  }
}

TEST_CASE("a deadline that moves away costs no timer", "[worker_deadlines]") {
  WorkerDeadlines deadlines(times);
  auto now = WorkerDeadlines::Time(seconds(1000));
  deadlines.await_step(now);
  CHECK(deadlines.set_timer(now));
  now += seconds(1);
  deadlines.await_step(now);
  CHECK_FALSE(deadlines.set_timer(now));
  deadlines.await_other_end(now);  // that one is earlier
  CHECK(deadlines.set_timer(now) == seconds(2));
}

}  // namespace
}  // namespace tune::runtime
