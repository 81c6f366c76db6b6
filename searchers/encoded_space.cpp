#include "searchers/encoded_space.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tune::searchers {
namespace {

constexpr double inactive = std::numeric_limits<double>::quiet_NaN();
// from_unit() takes quantiles below 1.
constexpr double largest_quantile = 1 - 0x1p-53;
// Beyond this a double cannot number the values: as good as continuous.
constexpr double most_numbered = 0x1p53;

std::optional<std::uint64_t> numbered_values(const Domain& domain) {
  const std::optional<std::uint64_t> count = domain.count();
  if (count && static_cast<double>(*count) > most_numbered) return std::nullopt;
  return count;
}

bool is_free(const Domain& domain) {
  return domain.kind() != Domain::Kind::constant && domain.kind() != Domain::Kind::sample_from;
}

}  // namespace

EncodedSpace::EncodedSpace(const SearchSpace& space) {
  for (SearchSpace::Parameter& parameter : space.parameters()) {
    if (!is_free(parameter.domain)) continue;
    Dimension dimension{.path = std::move(parameter.path),
                        .names = std::move(parameter.names),
                        .domain = parameter.domain,
                        .is_categorical = parameter.domain.is_categorical() &&
                                          parameter.domain.kind() != Domain::Kind::ordinal,
                        .count = numbered_values(parameter.domain),
                        .conditions = {}};
    for (const auto& [path, key] : parameter.conditions) {
      const std::size_t above = find_branch(path, dimension.conditions);
      dimension.conditions.emplace_back(above, dimensions_[above].domain.index_of(key).value());
    }
    is_conditional_ = is_conditional_ || !dimension.conditions.empty();
    dimensions_.push_back(std::move(dimension));
  }
}

// Exclusive branches may both hold a branch of this name: the one meant exists under `conditions`.
std::size_t EncodedSpace::find_branch(const std::string& path, const Conditions& conditions) const {
  const auto found = std::find_if(
      dimensions_.begin(), dimensions_.end(),
      [&](const Dimension& other) { return other.path == path && other.conditions == conditions; });
  return static_cast<std::size_t>(found - dimensions_.begin());
}

bool EncodedSpace::is_active(std::size_t d, const Point& point) const {
  for (const auto& [above, option] : dimensions_[d].conditions) {
    if (point[above] != static_cast<double>(option)) return false;
  }
  return true;
}

Point EncodedSpace::encode(const Json& config) const {
  Point point(size(), inactive);
  for (std::size_t d = 0; d < size(); ++d) {
    if (!is_active(d, point)) continue;
    const Dimension& dimension = dimensions_[d];
    const Json* value = find_path(config, dimension.names);
    if (value == nullptr) continue;
    if (dimension.is_categorical) {
      const std::optional<std::uint64_t> option = dimension.domain.index_of(*value);
      if (option) point[d] = static_cast<double>(*option);
    } else {
      const std::optional<UnitInterval> quantiles = dimension.domain.to_unit(*value);
      if (quantiles) point[d] = quantiles->centre();
    }
  }
  return point;
}

Json EncodedSpace::value_at(std::size_t d, double place) const {
  const Dimension& dimension = dimensions_[d];
  if (dimension.is_categorical) {
    const double last = static_cast<double>(*dimension.count - 1);
    return dimension.domain.value_at(
        static_cast<std::uint64_t>(std::clamp(std::round(place), 0.0, last)));
  }
  return dimension.domain.from_unit(std::clamp(place, 0.0, largest_quantile));
}

Json EncodedSpace::decode(const Point& point, const Json& fixed) const {
  Json config = fixed;
  Point places(size(), inactive);  // of what `config` says
  for (std::size_t d = 0; d < size(); ++d) {
    if (!is_active(d, places)) continue;
    const Dimension& dimension = dimensions_[d];
    const Json* given = find_path(config, dimension.names);
    if (given != nullptr) {
      if (!dimension.is_categorical) continue;  // no conditions hang on it
      const std::optional<std::uint64_t> option = dimension.domain.index_of(*given);
      if (option) places[d] = static_cast<double>(*option);
    } else {
      if (dimension.is_categorical) places[d] = snapped(d, point[d]);
      set_path(config, dimension.names, value_at(d, point[d]));
    }
  }
  return config;
}

double EncodedSpace::snapped(std::size_t d, double place) const {
  const Dimension& dimension = dimensions_[d];
  if (dimension.is_continuous()) return std::clamp(place, 0.0, largest_quantile);
  if (dimension.is_categorical) {
    return std::clamp(std::round(place), 0.0, static_cast<double>(*dimension.count - 1));
  }
  return cell(d, place).centre();
}

UnitInterval EncodedSpace::cell(std::size_t d, double place) const {
  const Dimension& dimension = dimensions_[d];
  return dimension.domain.to_unit(value_at(d, place)).value_or(UnitInterval{place, place});
}

double EncodedSpace::sample(std::size_t d, Random& random) const {
  const Dimension& dimension = dimensions_[d];
  if (dimension.is_categorical) return static_cast<double>(random.below(*dimension.count));
  return snapped(d, random.uniform());
}

Point EncodedSpace::sample(const Point& fixed, Random& random) const {
  Point point(size(), inactive);
  for (std::size_t d = 0; d < size(); ++d) {
    // Also where it is not used, so that one parameter's draw does not depend on the others'.
    const double drawn = sample(d, random);
    if (!is_active(d, point)) continue;
    point[d] = std::isnan(fixed[d]) ? drawn : fixed[d];
  }
  return point;
}

}  // namespace tune::searchers
