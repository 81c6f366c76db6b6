#include "halving_bracket.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <tune/error.hpp>

#include "core/number_text.hpp"

namespace tune::schedulers {

HalvingBracket::HalvingBracket(const BracketShape& shape, double reduction_factor, Mode mode)
    : shape_(&shape), reduction_factor_(reduction_factor), entered_(EntryOrder(mode)) {}

void HalvingBracket::begin_trial() {
  TUNE_ASSERT(is_open());
  ++begun_;
  ++running_;
}

void HalvingBracket::enter(const RungEntry& entry) {
  --running_;
  entered_.insert(entry);
}

// By one division, so that a whole quotient stays whole.
std::size_t HalvingBracket::next_places() const {
  double power = 1;
  for (std::size_t k = 0; k <= rung_; ++k) power *= reduction_factor_;
  const double share = std::floor(static_cast<double>(begun_) / power);
  return std::max<std::size_t>(1, static_cast<std::size_t>(share));
}

HalvingBracket::Halving HalvingBracket::halve() {
  TUNE_ASSERT(is_complete());
  // Nobody waits at the last milestone, max_t.
  TUNE_ASSERT(rung_ + 1 < shape_->milestones.size());
  const std::size_t places = std::min(next_places(), entered_.size());
  const auto cut = std::next(entered_.begin(), static_cast<std::ptrdiff_t>(places));
  Halving halving{.kept = {entered_.begin(), cut}, .dropped = {cut, entered_.end()}, .places = {}};
  halving.places = "the best " + std::to_string(places) + (places == 1 ? " goes on" : " go on") +
                   ", cut-off " + core::number_text(halving.kept.back().value);
  entered_.clear();
  running_ = places;
  ++rung_;
  return halving;
}

std::string HalvingBracket::describe() const {
  const std::size_t there = entered_.size();
  return "rung " + core::number_text(milestone()) + ": " + std::to_string(there) + " of " +
         std::to_string(there + running_) + (is_open() ? " and more to come are" : " are") +
         " there";
}

void HalvingBracket::restore(std::size_t rung, std::size_t begun, bool closed) {
  rung_ = rung;
  begun_ = begun;
  closed_ = closed;
}

}  // namespace tune::schedulers
