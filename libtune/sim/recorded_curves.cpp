#include "recorded_curves.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "core/number_text.hpp"

namespace tune::sim {
namespace {

/// When a step was running.
struct StepTime {
  double begin_s = 0;
  double end_s = 0;
};

[[noreturn]] void refuse_trial(TrialId trial, const std::string& why) {
  throw std::invalid_argument("what_if: trial " + std::to_string(trial.value()) + ' ' + why);
}

RecordedCurve::End end_of(const TrialResult& trial) {
  if (trial.state == TrialState::error) return RecordedCurve::End::failed;
  if (trial.state != TrialState::terminated) return RecordedCurve::End::unfinished;
  const bool has_ended_by_itself =
      trial.reason.starts_with("trainable finished") || trial.reason.starts_with("stop criterion");
  return has_ended_by_itself ? RecordedCurve::End::complete : RecordedCurve::End::stopped;
}

RecordedCurve curve_of(const TrialResult& trial, std::vector<StepTime>& times) {
  if (trial.first_config != trial.config) {
    refuse_trial(trial.id,
                 "changed its configuration on the way, from " + trial.first_config.dump() +
                     " to " + trial.config.dump() +
                     ": its curve is none of one configuration, and cannot be asked what if");
  }
  RecordedCurve curve{.trial = trial.id, .config = trial.config, .end = end_of(trial)};
  curve.error = trial.error.empty() ? "failed" : trial.error;
  for (const Result& result : trial.history()) {
    if (result.training_iteration != curve.recorded() + 1) {
      refuse_trial(trial.id, "has no result " + std::to_string(curve.recorded() + 1) +
                                 " on record: " + std::to_string(result.training_iteration) +
                                 " is the next; want all from 1 on");
    }
    const double seconds = std::isfinite(result.time_this_iter_s) && result.time_this_iter_s > 0
                               ? result.time_this_iter_s
                               : 0;
    curve.points.push_back({.metrics = result.metrics, .seconds = seconds});
    curve.seconds += seconds;
    times.push_back({result.timestamp - seconds, result.timestamp});
  }
  if (!curve.points.empty()) curve.seconds /= static_cast<double>(curve.points.size());
  return curve;
}

std::optional<PowerLaw> law_of(const RecordedCurve& curve, const std::string& metric) {
  std::vector<double> values;
  for (const CurveTable::Point& point : curve.points) {
    const MetricValue* value = point.metrics.find(metric);
    values.push_back(value != nullptr && value->is_number() ? value->as_double() : NAN);
  }
  return fit_power_law(values);
}

double covered_s(std::vector<StepTime> times) {
  std::sort(times.begin(), times.end(),
            [](const StepTime& a, const StepTime& b) { return a.begin_s < b.begin_s; });
  double covered = 0;
  double until = -INFINITY;
  for (const StepTime& step : times) {
    covered += std::max(0.0, step.end_s - std::max(until, step.begin_s));
    until = std::max(until, step.end_s);
  }
  return covered;
}

// At the middle of a step, so that clocks that are a little off do not count the step after as one
// beside it.
std::int64_t most_side_by_side(const std::vector<StepTime>& times) {
  std::vector<double> begins;
  std::vector<double> ends;
  for (const StepTime& step : times) {
    begins.push_back(step.begin_s);
    ends.push_back(step.end_s);
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  std::int64_t most = 1;
  for (const StepTime& step : times) {
    const double middle = step.begin_s + (step.end_s - step.begin_s) / 2;
    const auto begun = std::upper_bound(begins.begin(), begins.end(), middle) - begins.begin();
    const auto ended = std::lower_bound(ends.begin(), ends.end(), middle) - ends.begin();
    most = std::max(most, static_cast<std::int64_t>(begun - ended));
  }
  return most;
}

void check_length(const WhatIfOptions& options) {
  if (options.length.value_or(1) >= 1) return;
  throw std::invalid_argument("what_if: length must be at least 1, is " +
                              std::to_string(*options.length));
}

}  // namespace

double PowerLaw::at(std::int64_t iteration) const {
  return a + b * std::pow(static_cast<double>(iteration), -c);
}

std::optional<PowerLaw> fit_power_law(const std::vector<double>& values) {
  constexpr std::int64_t fewest_values = 4;
  constexpr int most_tenths = 30;
  const auto count =
      std::count_if(values.begin(), values.end(), [](double y) { return std::isfinite(y); });
  if (count < fewest_values) return std::nullopt;
  std::optional<PowerLaw> best;
  double best_error = INFINITY;
  for (int tenths = 1; tenths <= most_tenths; ++tenths) {
    PowerLaw law{.c = tenths / 10.0};
    double sum_x = 0;
    double sum_y = 0;
    const auto for_each = [&](auto take) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isfinite(values[i])) take(std::pow(static_cast<double>(i + 1), -law.c), values[i]);
      }
    };
    for_each([&](double x, double y) { sum_x += x, sum_y += y; });
    const double mean_x = sum_x / static_cast<double>(count);
    const double mean_y = sum_y / static_cast<double>(count);
    double xx = 0;
    double xy = 0;
    for_each([&](double x, double y) {
      xx += (x - mean_x) * (x - mean_x), xy += (x - mean_x) * (y - mean_y);
    });
    law.b = xy / xx;
    law.a = mean_y - law.b * mean_x;
    double error = 0;
    for_each(
        [&](double x, double y) { error += (law.a + law.b * x - y) * (law.a + law.b * x - y); });
    if (error < best_error) best = law, best_error = error;
  }
  return best;
}

SimulatedStep RecordedCurve::step(std::int64_t iteration, std::string_view metric) const {
  if (iteration <= recorded()) {
    const CurveTable::Point& point = points[static_cast<std::size_t>(iteration - 1)];
    return {.metrics = point.metrics,
            .seconds = point.seconds,
            .done = end != End::failed && iteration >= length};
  }
  // How long it went on until it failed is not on record.
  if (end == End::failed) return {.seconds = 0, .failure = error};
  SimulatedStep step{
      .metrics = points.back().metrics, .seconds = seconds, .done = iteration >= length};
  if (law) step.metrics.set(metric, law->at(iteration));
  return step;
}

RecordedCurves RecordedCurves::read(const ResultGrid& grid, const WhatIfOptions& options) {
  check_length(options);
  const std::string where = grid.path().empty() ? grid.experiment().name : grid.path().string();
  if (!grid.experiment().objective) {
    throw std::invalid_argument("what_if: " + where +
                                " has no metric: nothing says which trial is the best");
  }
  RecordedCurves all{.objective = *grid.experiment().objective};
  std::vector<StepTime> times;
  std::int64_t longest = 0;
  for (const TrialResult& trial : grid) {
    RecordedCurve curve = curve_of(trial, times);
    for (const CurveTable::Point& point : curve.points) all.compute_s += point.seconds;
    longest = std::max(longest, curve.recorded());
    if (curve.points.empty() && curve.end != RecordedCurve::End::failed) {
      all.without_curve.push_back(trial.id);
    } else {
      all.curves.push_back(std::move(curve));
    }
  }
  if (longest == 0) {
    throw std::invalid_argument("what_if: " + where + " has no result: there is no curve to ask");
  }
  for (RecordedCurve& curve : all.curves) {
    curve.length = curve.recorded();
    if (!curve.is_cut()) continue;
    curve.length = std::max(curve.length, options.length.value_or(longest));
    if (options.extrapolation == Extrapolation::power_law) {
      curve.law = law_of(curve, all.objective.metric);
    }
  }
  all.wall_s = covered_s(times);
  all.slots = most_side_by_side(times);
  return all;
}

}  // namespace tune::sim
