#include "pasha_rung.hpp"

#include <cmath>
#include <iterator>

#include "core/number_text.hpp"
#include "saved_number.hpp"

namespace tune::schedulers {

using core::number_text;

PashaRung::PashaRung(double milestone, double reduction_factor, Mode mode)
    : milestone_(milestone),
      reduction_factor_(reduction_factor),
      before_{mode},
      values_(mode),
      best_(before_),
      rest_(before_),
      promotable_(before_) {}

void PashaRung::enter(TrialId id, double value) {
  values_.insert(value);
  const Entry entry{value, id};
  (is_among_best(entry) ? best_ : rest_).insert(entry);
  part_anew();
}

void PashaRung::wait(TrialId id, double value) {
  leave(id);
  waiting_[id] = value;
  const Entry entry{value, id};
  if (is_among_best(entry)) promotable_.insert(entry);
}

void PashaRung::leave(TrialId id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  promotable_.erase(Entry{found->second, id});
  waiting_.erase(found);
}

std::optional<TrialId> PashaRung::first_promotable(
    const std::function<bool(TrialId)>& is_ready) const {
  for (const Entry& entry : promotable_) {
    if (is_ready(entry.trial)) return entry.trial;
  }
  return std::nullopt;
}

std::string PashaRung::describe(double value) const {
  return "rung " + number_text(milestone_) + ": " + number_text(value) + " ranks " +
         std::to_string(values_.count_better(value) + 1) + " of " + std::to_string(values_.size()) +
         "; the best " + std::to_string(best_.size()) + (best_.size() == 1 ? " goes" : " go") +
         " on";
}

std::string PashaRung::describe() const {
  return number_text(milestone_) + ": " + std::to_string(values_.size()) +
         (values_.size() == 1 ? " value, " : " values, ") + std::to_string(waiting_.size()) +
         (waiting_.size() == 1 ? " waits" : " wait");
}

Json PashaRung::save() const {
  Json values = Json::array();
  for (const auto* part : {&best_, &rest_}) {
    for (const Entry& entry : *part) {
      values.push_back({entry.trial.value(), saved_number(entry.value)});
    }
  }
  Json waiting = Json::array();
  for (const auto& [id, value] : waiting_) waiting.push_back({id.value(), saved_number(value)});
  return {{"values", values}, {"waiting", waiting}};
}

void PashaRung::restore(const Json& state) {
  for (const Json& entry : state.at("values")) {
    enter(TrialId{entry.at(0).get<std::uint64_t>()}, restored_number(entry.at(1)));
  }
  for (const Json& entry : state.at("waiting")) {
    wait(TrialId{entry.at(0).get<std::uint64_t>()}, restored_number(entry.at(1)));
  }
}

bool PashaRung::is_among_best(const Entry& entry) const {
  return !best_.empty() && !before_(*best_.rbegin(), entry);
}

// A new value moves the border by one place at most.
void PashaRung::part_anew() {
  // The division rounds to nearest: a factor that is meant to divide n, say 1.1 for 11, does so.
  const auto places =
      static_cast<std::size_t>(static_cast<double>(values_.size()) / reduction_factor_);
  while (best_.size() > places) {
    const auto last = std::prev(best_.end());
    promotable_.erase(*last);
    rest_.insert(best_.extract(last));
  }
  while (best_.size() < places) {
    const auto first = rest_.begin();
    const auto waiting = waiting_.find(first->trial);
    if (waiting != waiting_.end()) promotable_.insert(*first);
    best_.insert(rest_.extract(first));
  }
}

}  // namespace tune::schedulers
