#include "searchers/cma_margin.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <tune/random.hpp>

namespace tune::searchers {
namespace {

double probability_below(double deviations) {
  return 0.5 * std::erfc(-deviations / std::numbers::sqrt2);
}

// How many deviations from the mean a bound has beyond which draws come with `probability`.
double deviations_to(double probability) {
  return -normal_quantile(std::clamp(probability, 1e-300, 0.5));
}

}  // namespace

void keep_margin(CmaDistribution& distribution, std::size_t d, const UnitInterval& cell,
                 double margin) {
  const bool is_first = cell.first <= 0;
  const bool is_last = cell.last >= 1;
  if (is_first && is_last) return;
  const double mean = distribution.mean()(static_cast<Eigen::Index>(d));
  const double deviation = distribution.deviation(d);
  if (is_first || is_last) {
    const double bound = is_first ? cell.last : cell.first;
    const double furthest = deviations_to(margin) * deviation;
    if (std::abs(bound - mean) <= furthest) return;
    distribution.set_marginal(d, is_first ? bound - furthest : bound + furthest, deviation);
    return;
  }
  const double least = margin / 2;
  const double below = probability_below((cell.first - mean) / deviation);
  const double above = probability_below((mean - cell.last) / deviation);
  const double between = 1 - below - above;
  if (below >= least && above >= least) return;
  // What is given to one side is taken from the others, as far as they are above the least.
  const double raised_below = std::max(below, least);
  const double raised_above = std::max(above, least);
  const double raised_between = std::max(between, least);
  const double sum = raised_below + raised_above + raised_between;
  const double spare = std::max(sum - 3 * least, 1e-300);
  const double new_below = raised_below + (1 - sum) * (raised_below - least) / spare;
  const double new_above = raised_above + (1 - sum) * (raised_above - least) / spare;
  const double to_first = deviations_to(new_below);
  const double to_last = deviations_to(new_above);
  if (!(to_first + to_last > 0)) return;
  distribution.set_marginal(d, (cell.first * to_last + cell.last * to_first) / (to_first + to_last),
                            (cell.last - cell.first) / (to_first + to_last));
}

}  // namespace tune::searchers
