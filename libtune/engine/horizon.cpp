#include "engine/horizon.hpp"

#include <algorithm>

namespace tune::engine {

bool Horizon::is_reached(const Result& result) const {
  if (result.training_iteration <= decided_until) return false;
  if (every_result) return true;
  return std::any_of(bounds.begin(), bounds.end(), [&](const Bound& bound) {
    const std::optional<double> value = result.number(bound.field);
    if (!value) return false;
    return bound.below ? *value <= bound.value : *value >= bound.value;
  });
}

}  // namespace tune::engine
