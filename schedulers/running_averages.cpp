#include "running_averages.hpp"

#include <algorithm>
#include <cmath>

#include <tune/error.hpp>

#include "saved_number.hpp"

namespace tune::schedulers {
namespace {

// The distance of steps at `time`: whole, and a power of two.
double step_width(double time) {
  constexpr int bits = 8;  // 256 steps to a doubling
  return time < 2 ? 1 : std::max(1.0, std::ldexp(1.0, std::ilogb(time) - bits));
}

}  // namespace

double Curve::average() const { return finite_ > 0 ? mean_ : worst_value(); }

Json Curve::save() const {
  return {saved_number(mean_),           finite_,    has_begun_,
          best_ ? Json(*best_) : Json(), next_step_, last_step_ ? Json(*last_step_) : Json(),
          saved_number(last_average_)};
}

void Curve::restore(const Json& state) {
  mean_ = restored_number(state.at(0), "running averages");
  finite_ = state.at(1).get<std::int64_t>();
  has_begun_ = state.at(2).get<bool>();
  if (!state.at(3).is_null()) best_ = state.at(3).get<double>();
  next_step_ = state.at(4).get<double>();
  if (!state.at(5).is_null()) last_step_ = state.at(5).get<double>();
  last_average_ = restored_number(state.at(6), "running averages");
}

double RunningAverages::step_at(double time) {
  const double width = step_width(time);
  return std::floor(time / width) * width;
}

double RunningAverages::next_step(double step) { return step + step_width(step); }

void RunningAverages::add(Curve& curve, double time, double value) {
  if (std::isfinite(value) && (!curve.best_ || is_better(mode_, value, *curve.best_))) {
    curve.best_ = value;
  }
  if (!(time >= grace_period_)) return;
  const double step = step_at(time);
  if (!curve.has_begun_) {
    curve.has_begun_ = true;
    curve.next_step_ = step == time ? step : next_step(step);
  }
  // Up to a step that lies before this result the earlier ones are all there are.
  while (curve.next_step_ < time) enter(curve, curve.next_step_);
  if (std::isfinite(value)) {
    ++curve.finite_;
    curve.mean_ += (value - curve.mean_) / static_cast<double>(curve.finite_);
  }
  if (curve.next_step_ == time) enter(curve, time);
}

void RunningAverages::enter(Curve& curve, double step) {
  curve.last_average_ = curve.average();
  curve.last_step_ = step;
  curve.next_step_ = next_step(step);
  steps_.try_emplace(step, mode_).first->second.insert(curve.last_average_);
}

std::size_t RunningAverages::count_others(const Curve& curve, double step) const {
  const auto found = steps_.find(step);
  if (found == steps_.end()) return 0;
  return found->second.size() - (curve.last_step_ == step ? 1 : 0);
}

double RunningAverages::median_of_others(const Curve& curve, double step) const {
  const std::size_t others = count_others(curve, step);
  TUNE_ASSERT(others > 0);
  const RankedValues& values = steps_.at(step);
  const bool has_own = curve.last_step_ == step;
  const std::size_t own = has_own ? values.count_better(curve.last_average_) : others;
  const auto other = [&](std::size_t index) { return values.at(index < own ? index : index + 1); };
  const double upper = other(others / 2);
  if (others % 2 == 1) return upper;
  const double lower = other(others / 2 - 1);
  return lower / 2 + upper / 2;  // so that the sum of two large ones stays finite
}

Json RunningAverages::save() const {
  Json state = Json::array();
  for (const auto& [step, values] : steps_) {
    Json saved = Json::array();
    for (const double value : values.values()) saved.push_back(saved_number(value));
    state.push_back({step, std::move(saved)});
  }
  return state;
}

void RunningAverages::restore(const Json& state) {
  steps_.clear();
  for (const Json& entry : state) {
    RankedValues& values = steps_.try_emplace(entry.at(0).get<double>(), mode_).first->second;
    for (const Json& value : entry.at(1)) {
      values.insert(restored_number(value, "running averages"));
    }
  }
}

}  // namespace tune::schedulers
