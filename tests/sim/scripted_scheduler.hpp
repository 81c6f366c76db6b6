#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <tune/scheduler.hpp>

namespace tune::test {

/// One `when` line of a scenario.
struct SchedulerRule {
  enum class Event { added, reports, ends };
  TrialId trial;
  Event event = Event::reports;
  std::int64_t iteration = 0;  ///< Of the result.
  Decision answer = Decision::proceed;
  std::function<void(SchedulerContext&)> request;  ///< Empty: none.
};

/// Makes a scheduler that does what its rules say and else what FIFO does.
[[nodiscard]] std::unique_ptr<TrialScheduler> scripted_scheduler(std::vector<SchedulerRule> rules);

}  // namespace tune::test
