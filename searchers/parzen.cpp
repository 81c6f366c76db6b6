#include "searchers/parzen.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "fast_exp.hpp"

namespace tune::searchers {
namespace {

constexpr double no_width = std::numeric_limits<double>::infinity();
constexpr std::size_t kernels_at_once = 256;  // their numbers stay in the first cache

double normal_cdf(double x) { return 0.5 * std::erfc(-x * std::numbers::sqrt2 / 2); }

// The mass of a normal distribution around `mean` between `low` and `high`.
double normal_mass(double mean, double width, double low, double high) {
  // Nearer to the tail's side, where differences of small numbers are exact.
  if (low > mean) return normal_mass(-mean, width, -high, -low);
  return normal_cdf((high - mean) / width) - normal_cdf((low - mean) / width);
}

// The nearest values of all that are given, by cells so narrow that what shares one is nearer than
// any width that is allowed.
class Neighbours {
 public:
  explicit Neighbours(std::span<const double> places) {
    low_.fill(std::numeric_limits<double>::infinity());
    high_.fill(-std::numeric_limits<double>::infinity());
    for (const double place : places) {
      if (std::isnan(place)) continue;
      const std::size_t cell = cell_of(place);
      low_[cell] = std::min(low_[cell], place);
      high_[cell] = std::max(high_[cell], place);
    }
    double below = no_place;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      below_[cell] = below;
      if (high_[cell] >= low_[cell]) below = high_[cell];
    }
    double above = no_place;
    for (std::size_t cell = cells; cell-- > 0;) {
      above_[cell] = above;
      if (high_[cell] >= low_[cell]) above = low_[cell];
    }
  }

  // The larger of the distances to the two neighbours. The outermost have one neighbour; a lone one
  // has the bounds.
  [[nodiscard]] double distance(double place) const {
    const std::size_t cell = cell_of(place);
    const bool is_lowest = place == low_[cell];
    const bool is_highest = place == high_[cell];
    double left = is_lowest ? place - below_[cell] : place - low_[cell];
    double right = is_highest ? above_[cell] - place : high_[cell] - place;
    const bool has_left = !is_lowest || below_[cell] != no_place;
    const bool has_right = !is_highest || above_[cell] != no_place;
    if (!has_left && !has_right) return std::max(place, 1 - place);
    if (!has_left) left = 0;
    if (!has_right) right = 0;
    return std::max(left, right);
  }

 private:
  static constexpr std::size_t cells = 512;
  static constexpr double no_place = -1;
  static std::size_t cell_of(double place) {
    return std::min(static_cast<std::size_t>(place * static_cast<double>(cells)), cells - 1);
  }

  std::array<double, cells> low_;
  std::array<double, cells> high_;
  std::array<double, cells> below_;
  std::array<double, cells> above_;
};

}  // namespace

std::size_t ParzenColumn::cell(double place) const {
  if (is_categorical) return static_cast<std::size_t>(place);
  const auto above = std::upper_bound(edges.begin() + 1, edges.end() - 1, place);
  return static_cast<std::size_t>(above - edges.begin()) - 1;
}

void ParzenMixture::build(std::span<const double> rows, std::span<const double> weights,
                          double prior_weight, double least_width) {
  const std::vector<ParzenColumn>& columns = *columns_;
  size_ = weights.size();
  double whole = prior_weight;
  for (const double weight : weights) whole += weight;
  log_prior_ = std::log(prior_weight / whole);
  log_weights_.resize(size_);
  for (std::size_t i = 0; i < size_; ++i) log_weights_[i] = std::log(weights[i] / whole);

  const std::size_t numbers = size_ * columns.size();
  places_.resize(numbers);
  widths_.resize(numbers);
  steepness_.resize(numbers);
  constants_.resize(numbers);
  cells_.resize(numbers);
  tables_.assign(columns.size(), {});
  for (std::size_t i = 0; i < size_; ++i) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      places_[c * size_ + i] = rows[i * columns.size() + c];
    }
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (!columns[c].is_categorical) find_widths(c, least_width);
    if (columns[c].count > 0) {
      find_cells(c);
    } else {
      find_constants(c);
    }
  }
}

void ParzenMixture::find_widths(std::size_t c, double least_width) {
  const std::span<const double> places(places_.data() + c * size_, size_);
  double* widths = widths_.data() + c * size_;
  const Neighbours neighbours(places);
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    widths[i] = no_width;
    if (std::isnan(places[i])) continue;
    widths[i] = std::clamp(neighbours.distance(places[i]), least_width, 1.0);
    sum += widths[i];
    ++count;
  }
  const ParzenColumn& column = (*columns_)[c];
  if (column.count == 0 || count == 0) return;
  const double mean =
      std::max(sum / static_cast<double>(count), 0.5 / static_cast<double>(column.count));
  for (std::size_t i = 0; i < size_; ++i) {
    if (!std::isnan(places[i])) widths[i] = mean;
  }
}

void ParzenMixture::find_constants(std::size_t c) {
  constexpr double far = 8;  // in widths: nothing is cut off that a double could tell
  const double log_root_two_pi = 0.5 * std::log(2 * std::numbers::pi);
  for (std::size_t i = c * size_; i < (c + 1) * size_; ++i) {
    if (std::isnan(places_[i])) {
      places_[i] = steepness_[i] = constants_[i] = 0;
      continue;
    }
    const double width = widths_[i];
    const bool is_cut = places_[i] < far * width || 1 - places_[i] < far * width;
    const double mass = is_cut ? normal_mass(places_[i], width, 0, 1) : 1;
    steepness_[i] = 0.5 / (width * width);
    constants_[i] = -std::log(width * mass) - log_root_two_pi;
  }
}

double ParzenMixture::share(std::size_t c, bool is_own) const {
  const double others = 1.0 / static_cast<double>(size_ + 1);
  const auto count = static_cast<double>((*columns_)[c].count);
  return ((is_own ? 1 : 0) + others) / (1 + count * others);
}

void ParzenMixture::find_cells(std::size_t c) {
  const ParzenColumn& column = (*columns_)[c];
  double width = no_width;
  for (std::size_t i = c * size_; i < (c + 1) * size_; ++i) {
    const bool exists = !std::isnan(places_[i]);
    cells_[i] = static_cast<std::uint32_t>(exists ? column.cell(places_[i]) : column.count);
    if (exists && !column.is_categorical) width = widths_[i];
  }
  if (!column.is_categorical) make_table(c, width);
}

void ParzenMixture::make_table(std::size_t c, double width) {
  const ParzenColumn& column = (*columns_)[c];
  const std::size_t row = column.count + 1;
  std::vector<double>& table = tables_[c];
  table.assign(column.count * row, 0);
  if (width == no_width) return;  // no row has it
  for (std::size_t own = 0; own < column.count; ++own) {
    const double whole = normal_mass(column.centres[own], width, 0, 1);
    for (std::size_t cell = 0; cell < column.count; ++cell) {
      const double low = column.edges[cell];
      const double high = column.edges[cell + 1];
      const double mass = normal_mass(column.centres[own], width, low, high);
      const double density = mass / whole / (high - low);
      table[cell * row + own] = std::log(std::max(density, std::numeric_limits<double>::min()));
    }
  }
}

void ParzenMixture::add_columns(const double* point, std::size_t first, std::size_t last,
                                double* sums) const {
  for (std::size_t c = 0; c < columns_->size(); ++c) {
    if (std::isnan(point[c])) continue;
    const std::size_t begin = c * size_ + first;
    const std::size_t count = last - first;
    const std::uint32_t* cells = cells_.data() + begin;
    const ParzenColumn& column = (*columns_)[c];
    if (column.is_categorical) {
      const auto options = static_cast<std::uint32_t>(column.count);
      const auto option = static_cast<std::uint32_t>(point[c]);
      const double own = std::log(share(c, true) * options);
      const double other = std::log(share(c, false) * options);
      for (std::size_t i = 0; i < count; ++i) {
        sums[i] += cells[i] == options ? 0 : cells[i] == option ? own : other;
      }
      continue;
    }
    if (column.count > 0) {
      const double* row = tables_[c].data() + column.cell(point[c]) * (column.count + 1);
      for (std::size_t i = 0; i < count; ++i) sums[i] += row[cells[i]];
      continue;
    }
    const double place = point[c];
    const double* places = places_.data() + begin;
    const double* steepness = steepness_.data() + begin;
    const double* constants = constants_.data() + begin;
    for (std::size_t i = 0; i < count; ++i) {
      const double away = place - places[i];
      sums[i] += constants[i] - away * away * steepness[i];
    }
  }
}

std::vector<double> ParzenMixture::log_densities(std::span<const double> points) const {
  const std::size_t count = points.size() / columns_->size();
  // The sums so far, divided by the exponential of the largest term so far.
  std::vector<double> sums(count, 1);
  std::vector<double> largest(count, log_prior_);
  std::array<double, kernels_at_once> terms;
  for (std::size_t first = 0; first < size_; first += kernels_at_once) {
    const std::size_t last = std::min(first + kernels_at_once, size_);
    const std::span<double> block = std::span(terms).first(last - first);
    for (std::size_t point = 0; point < count; ++point) {
      std::copy(log_weights_.begin() + static_cast<std::ptrdiff_t>(first),
                log_weights_.begin() + static_cast<std::ptrdiff_t>(last), block.begin());
      add_columns(points.data() + point * columns_->size(), first, last, block.data());
      if (const double top = largest_of(block); top > largest[point]) {
        sums[point] *= std::exp(largest[point] - top);
        largest[point] = top;
      }
      sums[point] += sum_of_exps(block, largest[point]);
    }
  }
  for (std::size_t point = 0; point < count; ++point) {
    sums[point] = largest[point] + std::log(sums[point]);
  }
  return sums;
}

std::size_t ParzenMixture::draw_kernel(std::span<const double> known, Random& random) const {
  std::vector<double> sums = log_weights_;
  sums.push_back(log_prior_);
  add_columns(known.data(), 0, size_, sums.data());
  const double largest = *std::max_element(sums.begin(), sums.end());
  double whole = 0;
  for (double& sum : sums) {
    whole += std::exp(sum - largest);
    sum = whole;
  }
  const double drawn = random.uniform() * whole;
  const auto found = std::upper_bound(sums.begin(), sums.end(), drawn);
  return std::min(static_cast<std::size_t>(found - sums.begin()), size_);
}

double ParzenMixture::draw(std::size_t kernel, std::size_t c, Random& random) const {
  const ParzenColumn& column = (*columns_)[c];
  const double u = random.uniform();
  const std::size_t i = c * size_ + kernel;
  const bool exists =
      kernel < size_ && (column.count > 0 ? cells_[i] < column.count : steepness_[i] > 0);
  if (column.is_categorical) {
    const auto count = static_cast<double>(column.count);
    // With this chance any option, the kernel's own included; else its own.
    const double any = share(c, false) * count;
    if (exists && u >= any) return static_cast<double>(cells_[i]);
    return std::min(std::floor((exists ? u / any : u) * count), count - 1);
  }
  if (!exists) return u;
  const double low = normal_cdf(-places_[i] / widths_[i]);
  const double high = normal_cdf((1 - places_[i]) / widths_[i]);
  const double quantile = std::clamp(low + u * (high - low), 0x1p-60, 1 - 0x1p-53);
  return std::clamp(places_[i] + widths_[i] * normal_quantile(quantile), 0.0, 1 - 0x1p-53);
}

}  // namespace tune::searchers
