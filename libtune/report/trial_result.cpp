#include <tune/result_grid.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "value_in_scope.hpp"

namespace tune {

std::string_view to_string(Scope scope) {
  constexpr std::array<std::string_view, 5> names = {"last", "all", "avg", "last-5-avg",
                                                     "last-10-avg"};
  return names.at(static_cast<std::size_t>(scope));
}

std::vector<Result> TrialResult::history() const {
  return source ? source->history(id) : std::vector<Result>{};
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
  return report::value_in_scope(history(), metric, mode, scope);
}

}  // namespace tune
