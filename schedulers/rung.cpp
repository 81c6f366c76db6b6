#include "rung.hpp"

#include <algorithm>
#include <cmath>

#include "core/number_text.hpp"
#include "saved_number.hpp"

namespace tune::schedulers {
namespace {

using core::number_text;

}  // namespace

std::string RungStanding::describe() const {
  return "rung " + number_text(milestone) + ": " + number_text(value) + " ranks " +
         std::to_string(rank) + " of " + std::to_string(entries) + "; the best " +
         std::to_string(places) + (places == 1 ? " goes" : " go") + " on, cut-off " +
         number_text(cutoff);
}

RungStanding Rung::enter(double value, double reduction_factor) {
  values_.insert(value);
  RungStanding standing{.milestone = milestone_, .value = value, .entries = values_.size()};
  standing.places = places(reduction_factor);
  standing.cutoff = values_.at(standing.places - 1);
  standing.rank = values_.count_better(value) + 1;
  standing.goes_on = standing.rank <= standing.places;
  return standing;
}

std::string Rung::describe(double reduction_factor) const {
  std::string text = number_text(milestone_) + ": " + std::to_string(values_.size()) +
                     (values_.size() == 1 ? " value" : " values");
  if (values_.size() > 0) {
    text += ", cut-off " + number_text(values_.at(places(reduction_factor) - 1));
  }
  return text;
}

Json Rung::save() const {
  Json state = Json::array();
  for (const double value : values_.values()) state.push_back(saved_number(value));
  return state;
}

void Rung::restore(const Json& state) {
  for (const Json& value : state) values_.insert(restored_number(value));
}

std::size_t Rung::places(double reduction_factor) const {
  // The division rounds to nearest: a factor that is meant to divide n, say 1.1 for 11, does so.
  const double share = std::floor(static_cast<double>(values_.size()) / reduction_factor);
  return std::max<std::size_t>(1, static_cast<std::size_t>(share));
}

}  // namespace tune::schedulers
