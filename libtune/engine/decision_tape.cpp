#include "decision_tape.hpp"

#include <algorithm>
#include <stdexcept>

#include "engine/event_json.hpp"

namespace tune::engine {

void DecisionTape::record() {
  recorded_ = nullptr;
  next_call_ = 0;
  taken_.clear();
}

void DecisionTape::replay(const Decisions& recorded, bool asks) {
  recorded_ = &recorded;
  asks_ = asks;
  next_call_ = 0;
  taken_.clear();
}

bool DecisionTape::says_nothing(const OutsideAnswer& answer) {
  if (const auto* scheduler = std::get_if<SchedulerAnswer>(&answer)) {
    return scheduler->decision == Decision::proceed && !scheduler->choice && !scheduler->hold &&
           scheduler->requests.empty();
  }
  const auto* criteria = std::get_if<CriteriaAnswer>(&answer);
  return criteria != nullptr && criteria->stop_trial.empty() && criteria->stop_experiment.empty();
}

void DecisionTape::check_kind(const OutsideAnswer& answer, std::size_t kind) {
  if (answer.index() == kind || std::holds_alternative<AnswerFault>(answer)) return;
  throw std::runtime_error(
      "the recorded decisions do not fit the events: another version of tune "
      "may have written them");
}

const OutsideAnswer* DecisionTape::find(std::uint32_t call) const {
  const auto found = std::find_if(recorded_->begin(), recorded_->end(),
                                  [call](const RecordedAnswer& r) { return r.call == call; });
  return found == recorded_->end() ? nullptr : &found->answer;
}

void DecisionTape::compare(const OutsideAnswer& live, const OutsideAnswer& told) {
  if (!difference_.empty() || (says_nothing(live) && says_nothing(told))) return;
  const std::string now = object_text(to_json(live));
  const std::string then = object_text(to_json(told));
  if (now != then) difference_ = "recorded is " + then + ", today it would be " + now;
}

}  // namespace tune::engine
