#include "searchers/branch_choice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tune::searchers {
namespace {

constexpr double branch_share = 0.5;
constexpr double choice_share = 0.25;
constexpr double deeper_share = 0.9;
constexpr std::uint64_t most_options = 16;   // beyond, an option is hardly a branch
constexpr std::size_t trials_an_option = 4;  // to look at options within options

struct Option {
  std::size_t key = 0;
  std::size_t trials = 0;
  std::vector<double> losses;  // in the order of the trials
  double promise = 0;
};

double promise_of(const std::vector<double>& losses) {
  if (losses.size() < 2) return -std::numeric_limits<double>::infinity();
  const auto half = losses.begin() + static_cast<std::ptrdiff_t>((losses.size() + 1) / 2);
  const double before = *std::min_element(losses.begin(), half);
  const double best = std::min(before, *std::min_element(half, losses.end()));
  return std::isfinite(before) ? best - 0.5 * (before - best) : best;
}

std::vector<Option> count_options(std::size_t d, std::uint64_t count, const ParzenColumns& columns,
                                  const RankedPoints& points, const ForcedKeys& keys) {
  std::vector<Option> options(count);
  for (std::size_t key = 0; key < count; ++key) options[key].key = key;
  for (std::size_t number = 0; number < points.size(); ++number) {
    const auto row = points.row(number);
    const double key = row[columns.of(d)];
    if (std::isnan(key) || !has_keys(columns, row, keys)) continue;
    Option& option = options[static_cast<std::size_t>(key)];
    ++option.trials;
    const std::optional<Rank>& rank = points.rank(number);
    if (rank && rank->tier == 0) option.losses.push_back(rank->loss);
  }
  for (Option& option : options) option.promise = promise_of(option.losses);
  return options;
}

std::size_t choose_option(std::vector<Option> options, Random& random) {
  std::stable_sort(options.begin(), options.end(),
                   [](const Option& a, const Option& b) { return a.promise < b.promise; });
  std::size_t chosen = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < options.size(); ++i) {
    const double has = static_cast<double>(options[i].trials) + random.uniform();
    const double due = 1 / static_cast<double>(i + 1);
    if (has / due >= least) continue;
    least = has / due;
    chosen = options[i].key;
  }
  return chosen;
}

// The categorical dimensions that exist under `point` and are open.
std::vector<std::size_t> open_dimensions(const EncodedSpace& space, const Point& point) {
  std::vector<std::size_t> open;
  for (std::size_t d = 0; d < space.size(); ++d) {
    const Dimension& dimension = space.dimensions()[d];
    if (!dimension.is_categorical || *dimension.count < 2 || *dimension.count > most_options) {
      continue;
    }
    if (std::isnan(point[d]) && space.is_active(d, point)) open.push_back(d);
  }
  return open;
}

}  // namespace

bool has_keys(const ParzenColumns& columns, std::span<const double> row, const ForcedKeys& keys) {
  return std::all_of(keys.begin(), keys.end(), [&](const auto& key) {
    return row[columns.of(key.first)] == static_cast<double>(key.second);
  });
}

ForcedKeys choose_branches(const EncodedSpace& space, const ParzenColumns& columns,
                           const RankedPoints& points, const Point& fixed, Random& random) {
  ForcedKeys keys;
  Point known = fixed;
  const auto choices = static_cast<double>(open_dimensions(space, known).size());
  if (choices == 0) return keys;
  // Many choices are tried in many ways as it is.
  const double share = space.is_conditional() ? branch_share : choice_share / choices;
  if (random.uniform() >= share) return keys;
  while (true) {
    const std::vector<std::size_t> open = open_dimensions(space, known);
    if (open.empty()) return keys;
    const std::size_t d = open[random.below(open.size())];
    const std::uint64_t count = *space.dimensions()[d].count;
    const std::vector<Option> options = count_options(d, count, columns, points, keys);
    std::size_t trials = 0;
    for (const Option& option : options) trials += option.trials;
    if (!keys.empty() && trials < trials_an_option * count) return keys;
    const std::size_t key = choose_option(options, random);
    keys.emplace_back(d, key);
    known[d] = static_cast<double>(key);
    if (random.uniform() >= deeper_share) return keys;
  }
}

}  // namespace tune::searchers
