#include "core/closest_name.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tune::core {
namespace {

/// How many letters must be put in, left out or replaced to make one of the other (Levenshtein).
std::size_t letters_between(std::string_view one, std::string_view other) {
  std::vector<std::size_t> distances(other.size() + 1);  // from the part of `one` so far
  std::iota(distances.begin(), distances.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = distances[0];
    distances[0] = i + 1;
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t replaced = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = distances[j + 1];
      distances[j + 1] = std::min({replaced, diagonal + 1, distances[j] + 1});
    }
  }
  return distances.back();
}

}  // namespace

std::string closest_name(std::string_view name, const std::vector<std::string>& names) {
  std::string closest;
  std::size_t fewest = name.size() / 3 + 1;
  for (const std::string& known : names) {
    const std::size_t letters = letters_between(name, known);
    if (letters >= fewest) continue;
    fewest = letters;
    closest = known;
  }
  if (!closest.empty() || name.size() < 3) return closest;
  const auto has_it = [&](const std::string& known) { return known.find(name) != known.npos; };
  if (std::count_if(names.begin(), names.end(), has_it) != 1) return {};
  return *std::find_if(names.begin(), names.end(), has_it);
}

}  // namespace tune::core
