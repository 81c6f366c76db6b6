#include "schedulers/soft_ranking.hpp"

#include <algorithm>
#include <cmath>

#include "core/number_text.hpp"
#include "saved_number.hpp"

namespace tune::schedulers {
namespace {

// -1 if `a` is better, 1 if `b` is, else 0.
int order_of(Mode mode, double a, double b) {
  return is_better(mode, a, b) ? -1 : is_better(mode, b, a) ? 1 : 0;
}

double standard_deviation(const std::vector<double>& values) {
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

std::vector<double> pair_distances(const std::vector<double>& values) {
  std::vector<double> distances;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) distances.push_back(std::abs(values[i] - values[k]));
  }
  return distances;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Equal also if both are the same infinity or NaN.
bool is_within(Mode mode, double a, double b, double epsilon) {
  return order_of(mode, a, b) == 0 || std::abs(a - b) <= epsilon;
}

}  // namespace

std::optional<double> criss_cross_distance(const LearningCurve& a, const LearningCurve& b,
                                           Mode mode) {
  auto at_a = a.rbegin();
  auto at_b = b.rbegin();
  std::optional<double> distance;
  int last_order = 0;
  bool was_opposite = false;
  while (at_a != a.rend() && at_b != b.rend()) {
    if (at_a->first != at_b->first) {
      at_a->first > at_b->first ? static_cast<void>(++at_a) : static_cast<void>(++at_b);
      continue;
    }
    const int order = order_of(mode, at_a->second, at_b->second);
    if (!distance) {
      distance = std::abs(at_a->second - at_b->second);
      last_order = order;
      if (!std::isfinite(*distance) || order == 0) return std::nullopt;
    } else if (order == -last_order) {
      was_opposite = true;
    } else if (was_opposite && order == last_order) {
      return distance;
    }
    ++at_a;
    ++at_b;
  }
  return std::nullopt;
}

double percentile(std::vector<double> values, double percent) {
  const double place = percent / 100 * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(low);
  std::nth_element(values.begin(), middle, values.end());
  const double below = *middle;
  if (low + 1 == values.size()) return below;
  const double above = *std::min_element(middle + 1, values.end());
  return below + (place - static_cast<double>(low)) * (above - below);
}

void SoftRanking::enter(RankedTrial trial) {
  add_distances(trial);
  trials_.push_back(std::move(trial));
  if (trials_.size() > static_cast<std::size_t>(options_.ranked_trials)) drop_worst();
  if (distances_.empty()) return;  // as it was
  std::vector<double> distances;
  for (const auto& [pair, distance] : distances_) distances.push_back(distance);
  estimate_ = percentile(std::move(distances), options_.percentile);
}

void SoftRanking::add_distances(const RankedTrial& trial) {
  if (options_.ranking_criterion != "soft_ranking_auto") return;
  for (const RankedTrial& other : trials_) {
    const std::optional<double> distance = criss_cross_distance(trial.curve, other.curve, mode_);
    if (distance) distances_[std::minmax(trial.id, other.id)] = *distance;
  }
}

void SoftRanking::drop_worst() {
  const auto worst = std::max_element(
      trials_.begin(), trials_.end(),
      [this](const RankedTrial& a, const RankedTrial& b) { return is_better_on_top(a, b); });
  const TrialId id = worst->id;
  std::erase_if(distances_, [id](const auto& entry) {
    return entry.first.first == id || entry.first.second == id;
  });
  trials_.erase(worst);
}

bool SoftRanking::is_better_on_top(const RankedTrial& a, const RankedTrial& b) const {
  const int order = order_of(mode_, a.top, b.top);
  return order == 0 ? a.id < b.id : order < 0;
}

std::vector<const RankedTrial*> SoftRanking::sorted_by(double RankedTrial::*value) const {
  std::vector<const RankedTrial*> sorted;
  for (const RankedTrial& trial : trials_) sorted.push_back(&trial);
  std::sort(sorted.begin(), sorted.end(), [&](const RankedTrial* a, const RankedTrial* b) {
    const int order = order_of(mode_, a->*value, b->*value);
    return order == 0 ? a->id < b->id : order < 0;
  });
  return sorted;
}

std::string SoftRanking::instability() const {
  const std::vector<const RankedTrial*> top = sorted_by(&RankedTrial::top);
  const std::vector<const RankedTrial*> below = sorted_by(&RankedTrial::below);
  const double most = epsilon();
  for (std::size_t i = 0; i < top.size(); ++i) {
    if (is_within(mode_, top[i]->below, below[i]->below, most)) continue;
    return "trial " + std::to_string(top[i]->id.value()) + " is number " + std::to_string(i + 1) +
           " of " + std::to_string(top.size()) + " at the top with " +
           core::number_text(top[i]->below) + " below, where number " + std::to_string(i + 1) +
           " has " + core::number_text(below[i]->below) + "; epsilon is " + core::number_text(most);
  }
  return {};
}

std::vector<double> SoftRanking::values_below() const {
  std::vector<double> values;
  for (const RankedTrial* trial : sorted_by(&RankedTrial::below)) {
    if (std::isfinite(trial->below)) values.push_back(trial->below);
  }
  return values;
}

double SoftRanking::epsilon() const {
  if (options_.ranking_criterion == "soft_ranking_auto") return estimate_;
  if (options_.ranking_criterion == "soft_ranking") return options_.epsilon;
  const std::vector<double> values = values_below();
  if (values.size() < 2) return 0;
  double measure = 0;
  if (options_.ranking_criterion == "soft_ranking_std") {
    measure = standard_deviation(values);
  } else if (options_.ranking_criterion == "soft_ranking_mean_dst") {
    measure = mean_of(pair_distances(values));
  } else {
    measure = percentile(pair_distances(values), 50);
  }
  return measure * options_.epsilon_scaling;
}

void SoftRanking::begin_anew() {
  trials_.clear();
  distances_.clear();
}

Json SoftRanking::save() const {
  Json trials = Json::array();
  for (const RankedTrial& trial : trials_) {
    trials.push_back({trial.id.value(), saved_number(trial.below), saved_number(trial.top),
                      saved_curve(trial.curve)});
  }
  return {{"estimate", estimate_}, {"trials", trials}};
}

void SoftRanking::restore(const Json& state) {
  begin_anew();
  for (const Json& json : state.at("trials")) {
    RankedTrial trial{.id = TrialId{json.at(0).get<std::uint64_t>()},
                      .below = restored_number(json.at(1)),
                      .top = restored_number(json.at(2)),
                      .curve = restored_curve(json.at(3))};
    add_distances(trial);
    trials_.push_back(std::move(trial));
  }
  estimate_ = state.at("estimate").get<double>();
}

Json saved_curve(const LearningCurve& curve) {
  Json json = Json::array();
  for (const auto& [time, value] : curve) json.push_back({time, saved_number(value)});
  return json;
}

LearningCurve restored_curve(const Json& json) {
  LearningCurve curve;
  for (const Json& point : json) {
    curve.emplace_back(point.at(0).get<double>(), restored_number(point.at(1)));
  }
  return curve;
}

}  // namespace tune::schedulers
