#include "searchers/ranked_points.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tune::searchers {
namespace {

// More cells than these are as good as a continuum: they are narrower than most kernels.
constexpr std::uint64_t most_cells = 64;

ParzenColumn column_for(const Dimension& dimension) {
  ParzenColumn column{.is_categorical = dimension.is_categorical};
  if (!dimension.count || (!dimension.is_categorical && *dimension.count > most_cells)) {
    return column;
  }
  column.count = static_cast<std::size_t>(*dimension.count);
  if (dimension.is_categorical) return column;
  const Domain& domain = dimension.domain;
  for (std::uint64_t value = 0; value < column.count; ++value) {
    const UnitInterval share = domain.to_unit(domain.value_at(value)).value();
    column.edges.push_back(share.first);
    column.centres.push_back(share.centre());
  }
  column.edges.front() = 0;
  column.edges.push_back(1);
  return column;
}

}  // namespace

Rank final_rank(const Observation& observation) {
  constexpr int last_tier = std::numeric_limits<int>::max();
  if (observation.is_failure() || !observation.has_loss() || !std::isfinite(observation.loss)) {
    return {.tier = last_tier};
  }
  const bool is_complete = observation.state == Observation::State::completed;
  const int levels = static_cast<int>(observation.levels.size());
  return {.tier = is_complete ? 0 : last_tier - 1 - levels, .loss = observation.loss};
}

ParzenColumns::ParzenColumns(const EncodedSpace& space) {
  std::vector<const Dimension*> firsts;  // of each column
  for (const Dimension& dimension : space.dimensions()) {
    const auto same = std::find_if(firsts.begin(), firsts.end(), [&](const Dimension* other) {
      return other->path == dimension.path && other->names == dimension.names &&
             dimension.domain.kind() != Domain::Kind::branch &&
             other->domain.json() == dimension.domain.json();
    });
    of_dimension_.push_back(static_cast<std::size_t>(same - firsts.begin()));
    if (same != firsts.end()) continue;
    firsts.push_back(&dimension);
    columns_.push_back(column_for(dimension));
  }
}

void ParzenColumns::write(const Point& point, std::span<double> row) const {
  std::fill(row.begin(), row.end(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t d = 0; d < point.size(); ++d) {
    if (point[d] == point[d]) row[of_dimension_[d]] = point[d];
  }
}

void RankedPoints::set(std::size_t number, const Point& point, std::optional<Rank> rank) {
  if (number == ranks_.size()) {
    ranks_.emplace_back();
    rows_.resize(rows_.size() + columns_->size());
    unranked_.push_back(number);
  }
  columns_->write(point, std::span(rows_).subspan(number * columns_->size(), columns_->size()));
  if (ranks_[number]) {
    order_.erase(place_of(number));
  } else {
    unranked_.erase(std::lower_bound(unranked_.begin(), unranked_.end(), number));
  }
  ranks_[number] = rank;
  if (rank) {
    order_.insert(place_of(number), number);
  } else {
    unranked_.insert(std::lower_bound(unranked_.begin(), unranked_.end(), number), number);
  }
}

// Where it stands, or would stand.
std::vector<std::size_t>::iterator RankedPoints::place_of(std::size_t number) {
  const auto is_before = [this](std::size_t a, std::size_t b) {
    const Rank& first = *ranks_[a];
    const Rank& second = *ranks_[b];
    return first < second || (!(second < first) && a < b);
  };
  return std::lower_bound(order_.begin(), order_.end(), number, is_before);
}

}  // namespace tune::searchers
