#include "value_in_scope.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>

namespace tune::report {
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

}  // namespace

std::optional<double> value_in_scope(const std::vector<Result>& history, std::string_view metric,
                                     Mode mode, Scope scope) {
  std::vector<double> values;
  for (const Result& result : history) {
    if (const std::optional<double> value = result.number(metric)) values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  const auto newest = [&](std::size_t count) {
    return std::span<const double>(values).last(std::min(count, values.size()));
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

}  // namespace tune::report
