#include "fidelity.hpp"

#include <cmath>
#include <stdexcept>

#include "core/number_text.hpp"

namespace tune::schedulers {

using core::number_text;

void FidelityCheck::refuse(const std::string& what) const {
  throw std::invalid_argument(scheduler_ + ": " + what);
}

void FidelityCheck::objective(const std::string& time_attr, const std::string& metric,
                              const std::optional<Mode>& mode) const {
  if (time_attr.empty()) refuse("time_attr must name a field, is empty");
  if (!metric.empty() && !mode) {
    refuse("metric is " + metric + ", so mode must be min or max, is not set");
  }
}

void FidelityCheck::range(double grace_period, double max_t) const {
  if (!(grace_period > 0) || !std::isfinite(grace_period)) {
    refuse("grace_period must be above 0, is " + number_text(grace_period));
  }
  if (!(max_t >= grace_period) || !std::isfinite(max_t)) {
    refuse("max_t must be at least grace_period, which is " + number_text(grace_period) + ", is " +
           number_text(max_t));
  }
}

void FidelityCheck::reduction_factor(double reduction_factor) const {
  if (!(reduction_factor > 1) || !std::isfinite(reduction_factor)) {
    refuse("reduction_factor must be above 1, is " + number_text(reduction_factor));
  }
}

std::vector<double> FidelityCheck::powers(double first, double max_t,
                                          double reduction_factor) const {
  constexpr std::size_t most = 10'000;
  std::vector<double> powers;
  for (double power = first; power <= max_t; power *= reduction_factor) {
    if (powers.size() == most) {
      refuse("reduction_factor is " + number_text(reduction_factor) + ", which makes more than " +
             std::to_string(most) + " milestones up to max_t " + number_text(max_t));
    }
    powers.push_back(power);
  }
  return powers;
}

std::optional<Objective> objective_of(const std::string& metric, const std::optional<Mode>& mode) {
  if (!mode) return std::nullopt;
  return Objective{.metric = metric, .mode = *mode};
}

std::vector<double> bracket_sizes(std::size_t wanted, std::size_t all, double reduction_factor) {
  double power = 1;
  std::vector<double> sizes(all);
  for (std::size_t rungs = 1; rungs <= all; ++rungs) {
    // One division, so that a whole quotient stays whole under ceil.
    sizes[all - rungs] = std::ceil(static_cast<double>(all) * power / static_cast<double>(rungs));
    power *= reduction_factor;
  }
  sizes.resize(wanted);
  return sizes;
}

}  // namespace tune::schedulers
