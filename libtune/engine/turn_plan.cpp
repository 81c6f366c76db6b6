#include "turn_plan.hpp"

#include <stdexcept>
#include <string>

namespace tune::engine {

TurnPlan::TurnPlan(const SearchSpace& space, core::Enumeration::Axes axes,
                   std::optional<std::uint64_t> samples)
    : space_(space), which_(axes), axes_(space, axes), samples_(samples) {
  if (!axes_.count()) {
    throw std::invalid_argument("the grid has too many configurations, must be below 2^64");
  }
  cells_ = *axes_.count();
  if (!samples_) return;
  std::uint64_t total = 0;
  if (__builtin_mul_overflow(*samples_, cells_, &total)) {
    throw std::invalid_argument("num_samples " + std::to_string(*samples_) + " times " +
                                std::to_string(cells_) +
                                " grid cells are too many trials, must be below 2^64");
  }
  total_ = total;
}

std::optional<std::uint64_t> TurnPlan::take(const Json& point) {
  const core::Enumeration open_axes(space_, which_, point);
  // A step that finds its turn taken was paid for by an earlier point.
  for (std::uint64_t sample = 0; !samples_ || sample < *samples_; ++sample) {
    for (std::uint64_t i = 0; i < *open_axes.count(); ++i) {
      Json cell = point;
      open_axes.put(i, cell);
      const std::uint64_t turn = sample * cells_ + axes_.index_of(cell).value();
      if (taken_.insert(turn).second) return turn;
    }
  }
  return std::nullopt;
}

}  // namespace tune::engine
