#include "engine/turn_plan.hpp"

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
  const std::uint64_t count = *open_axes.count();
  const auto cell = [&](std::uint64_t index) {
    Json config = point;
    open_axes.put(index, config);
    return axes_.index_of(config).value();
  };
  // An axis is open where the first and the last cell differ: so the two name the whole set.
  std::uint64_t& next = next_of_[{cell(0), cell(count - 1)}];
  while (!samples_ || next / count < *samples_) {
    const std::uint64_t turn = next / count * cells_ + cell(next % count);
    ++next;
    ++turns_looked_at_;
    if (taken_.insert(turn).second) return turn;
  }
  return std::nullopt;
}

}  // namespace tune::engine
