#include "promotion_rung.hpp"

#include <cmath>
#include <iterator>

#include "core/number_text.hpp"
#include "saved_number.hpp"

namespace tune::schedulers {

PromotionRung::PromotionRung(double milestone, double reduction_factor, Mode mode)
    : milestone_(milestone),
      reduction_factor_(reduction_factor),
      order_(mode),
      entries_(order_),
      waiting_(order_) {}

void PromotionRung::enter(const RungEntry& entry, bool waits) {
  entries_.insert(entry);
  if (waits) waiting_.insert(entry);
  // A better one pushes the last out of its place.
  if (places_ > 0 && order_(entry, *last_place_)) --last_place_;
  // The division rounds to nearest: a factor that is meant to divide n, say 1.1 for 11, does so.
  const double share = std::floor(static_cast<double>(entries_.size()) / reduction_factor_);
  if (static_cast<std::size_t>(share) == places_) return;
  last_place_ = places_ == 0 ? entries_.begin() : std::next(last_place_);
  ++places_;  // by no more than one, since the factor is above 1
}

bool PromotionRung::has_place(const RungEntry& entry) const {
  return places_ > 0 && !order_(*last_place_, entry);
}

std::optional<RungEntry> PromotionRung::promotable() const {
  if (waiting_.empty() || !has_place(*waiting_.begin())) return std::nullopt;
  return *waiting_.begin();
}

std::optional<RungEntry> PromotionRung::promotable(
    const std::function<bool(TrialId)>& is_ready) const {
  for (const RungEntry& entry : waiting_) {
    if (!has_place(entry)) break;
    if (is_ready(entry.trial)) return entry;
  }
  return std::nullopt;
}

std::string PromotionRung::explain(const RungEntry& entry) const {
  std::string text = "rung " + core::number_text(milestone_) + ": " +
                     core::number_text(entry.value) + " is " + (has_place(entry) ? "" : "not ") +
                     "among the best " + std::to_string(places_) + " of " +
                     std::to_string(entries_.size());
  if (places_ > 0) text += ", cut-off " + core::number_text(last_place_->value);
  return text;
}

std::string PromotionRung::describe() const {
  std::string text = core::number_text(milestone_) + ": " + std::to_string(entries_.size()) +
                     (entries_.size() == 1 ? " value, " : " values, ") +
                     std::to_string(waiting_.size()) + (waiting_.size() == 1 ? " waits" : " wait");
  if (places_ > 0) text += ", cut-off " + core::number_text(last_place_->value);
  return text;
}

Json PromotionRung::save() const {
  Json state = Json::array();
  for (const RungEntry& entry : entries_) {
    const bool waits = waiting_.contains(entry);
    state.push_back({saved_number(entry.value), entry.trial.value(), waits});
  }
  return state;
}

void PromotionRung::restore(const Json& state) {
  for (const Json& entry : state) {
    enter({restored_number(entry.at(0)), TrialId{entry.at(1).get<std::uint64_t>()}},
          entry.at(2).get<bool>());
  }
}

}  // namespace tune::schedulers
