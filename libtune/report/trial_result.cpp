#include <tune/result_grid.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <utility>

#include "experiment_files.hpp"

namespace tune {
namespace {

// The mean of the finite ones among `values`; NaN if there are none.
double finite_mean(std::span<const double> values) {
  double sum = 0;
  std::size_t count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? worst_value() : sum / static_cast<double>(count);
}

// @pre `values` is not empty
double value_in_scope(std::span<const double> values, Mode mode, Scope scope) {
  const auto newest = [&](std::size_t count) {
    return values.last(std::min(count, values.size()));
  };
  switch (scope) {
    case Scope::last:
      return values.back();
    case Scope::all:
      return *std::min_element(values.begin(), values.end(),
                               [mode](double a, double b) { return is_better(mode, a, b); });
    case Scope::avg:
      return finite_mean(values);
    case Scope::last_5_avg:
      return finite_mean(newest(5));
    case Scope::last_10_avg:
      return finite_mean(newest(10));
  }
  throw std::invalid_argument("unknown scope " + std::to_string(static_cast<int>(scope)));
}

}  // namespace

std::string_view to_string(Scope scope) {
  constexpr std::array<std::string_view, 5> names = {"last", "all", "avg", "last-5-avg",
                                                     "last-10-avg"};
  return names.at(static_cast<std::size_t>(scope));
}

std::vector<Result> TrialResult::history() const {
  if (kept_history) return *kept_history;
  if (training_iteration == 0) return {};
  const bool has_ended = state == TrialState::terminated || state == TrialState::error;
  return report::read_results(path / "result.json", has_ended ? report::LastLine::must_be_whole
                                                              : report::LastLine::may_be_cut);
}

std::optional<Checkpoint> TrialResult::best_checkpoint(std::string_view metric, Mode mode) const {
  if (checkpoints.empty()) return std::nullopt;
  const std::vector<Result> results = history();
  std::optional<Checkpoint> best;
  double best_value = worst_value();
  for (const Checkpoint& candidate : checkpoints) {
    const auto result = std::find_if(results.begin(), results.end(), [&](const Result& other) {
      return other.training_iteration == candidate.training_iteration;
    });
    if (result == results.end()) continue;
    const std::optional<double> value = result->number(metric);
    if (value && std::isfinite(*value) && is_better(mode, *value, best_value)) {
      best = candidate;
      best_value = *value;
    }
  }
  return best;
}

std::optional<double> TrialResult::value(std::string_view metric, Mode mode, Scope scope) const {
  if (scope == Scope::last) {
    // Most often no file need be read.
    const MetricValue* const last = metrics.find(metric);
    if (last != nullptr && last->is_number()) return last->as_double();
  }
  std::vector<double> values;
  for (const Result& result : history()) {
    if (const std::optional<double> value = result.number(metric)) values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  return value_in_scope(values, mode, scope);
}

}  // namespace tune
