#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <tune/resources.hpp>
#include <tune/scheduler.hpp>
#include <tune/scheduler_context.hpp>

namespace tune::engine {

/// What a scheduler did in one call.
struct SchedulerAnswer {
  Decision decision = Decision::proceed;
  std::optional<TrialId> choice;  ///< Of choose_trial_to_run.
  bool hold = false;
  std::vector<SchedulerRequest> requests;
};
/// What the stop criteria said of one result; see StopEvaluator::Verdict.
struct CriteriaAnswer {
  std::string stop_trial;
  std::string stop_experiment;
};
/// What was asked threw.
struct AnswerFault {
  std::string text;
};
/// An answer of code outside the engine: a scheduler, a stop criterion, a function of resources.
using OutsideAnswer = std::variant<SchedulerAnswer, CriteriaAnswer, ResourceRequest, AnswerFault>;

struct RecordedAnswer {
  std::uint32_t call = 0;  ///< The how manieth question while the event was handled, from 0.
  OutsideAnswer answer;
};
/// All answers while one event was handled, but for those that say nothing ("go on", "as you
/// like"). With them the engine does again what it did, whatever the code outside would say today.
using Decisions = std::vector<RecordedAnswer>;

}  // namespace tune::engine
