#include "standing.hpp"

#include <cmath>

namespace tune::searchers {

Json Standing::save() const { return {static_cast<int>(kind), stopped_at, loss}; }

void Standing::restore(const Json& state) {
  kind = static_cast<Kind>(state.at(0).get<int>());
  stopped_at = state.at(1).get<std::int64_t>();
  loss = state.at(2).get<double>();
}

Standing standing_of(const Result& last, double sign) {
  Standing standing;
  if (last.stopped_by_scheduler) standing.stopped_at = -last.training_iteration;
  if (std::isfinite(last.target())) {
    standing.loss = sign * last.target();
  } else {
    standing.kind = Standing::Kind::not_finite;
  }
  return standing;
}

}  // namespace tune::searchers
