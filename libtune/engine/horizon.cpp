#include "engine/horizon.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tune::engine {

bool meets_bound(const Result& result, std::string_view field, double bound, bool below) {
  const std::optional<double> value = result.number(field);
  if (!value || !std::isfinite(*value)) return false;
  return below ? *value <= bound : *value >= bound;
}

bool Horizon::is_reached(const Result& result) const {
  if (result.training_iteration <= decided_until) return false;
  if (every_result) return true;
  if (result.training_iteration == decided_until + 1 &&
      !std::all_of(first_needs.begin(), first_needs.end(),
                   [&](const std::string& field) { return result.number(field).has_value(); })) {
    return true;
  }
  return std::any_of(bounds.begin(), bounds.end(), [&](const Bound& bound) {
    return meets_bound(result, bound.field, bound.value, bound.below);
  });
}

bool Horizon::is_end(const Result& result) const {
  return result.training_iteration > decided_until &&
         std::any_of(bounds.begin(), bounds.end(), [&](const Bound& bound) {
           return bound.ends && meets_bound(result, bound.field, bound.value, bound.below);
         });
}

}  // namespace tune::engine
