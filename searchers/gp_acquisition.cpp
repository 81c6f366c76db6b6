#include "gp_acquisition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "searchers/box_minimizer.hpp"
#include "searchers/log_ei.hpp"

namespace tune::searchers {
namespace {

constexpr double middle = 0.5;
constexpr double no_option = -1;
// Candidates cost O(n^2) each; this many square entries of the factor in all.
constexpr double candidate_work = 1.6e7;
constexpr double fewest_candidates = 64;
constexpr double most_candidates = 512;
constexpr double kept_off = 0.05;  // of the lengths
constexpr double least_square = 1e-12;
constexpr std::size_t starts = 5;
constexpr int climb_evaluations = 25;
constexpr int rounds = 3;
constexpr std::uint64_t most_listed_options = 12;
constexpr std::uint64_t most_neighbour_values = 1000;

bool is_same(const Point& a, const Point& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

}  // namespace

Eigen::RowVectorXd kernel_inputs(const EncodedSpace& space, const Point& point) {
  Eigen::RowVectorXd inputs(static_cast<Eigen::Index>(space.size()));
  for (std::size_t d = 0; d < space.size(); ++d) {
    const double absent = space.dimensions()[d].is_categorical ? no_option : middle;
    inputs[static_cast<Eigen::Index>(d)] = std::isnan(point[d]) ? absent : point[d];
  }
  return inputs;
}

GpAcquisition::GpAcquisition(const EncodedSpace& space, const GaussianProcess& process, Task task,
                             Predicate is_allowed)
    : space_(&space),
      process_(&process),
      task_(std::move(task)),
      is_allowed_(std::move(is_allowed)) {}

bool GpAcquisition::is_open(std::size_t d) const { return std::isnan(task_.fixed[d]); }

double GpAcquisition::log_distance(const Eigen::RowVectorXd& point,
                                   Eigen::RowVectorXd* slopes) const {
  if (task_.running == 0) return 0;
  const auto running = process_->points().bottomRows(task_.running);
  const MaternParameters& parameters = process_->parameters();
  const Eigen::ArrayXd exponents =
      process_->kernel().squared_distances(parameters, running, point).max(least_square) /
      (2 * kept_off * kept_off);
  if (slopes != nullptr) {
    const Eigen::ArrayXd by_square = 1 / (exponents.min(500).exp() - 1) / (kept_off * kept_off);
    for (Eigen::Index d = 0; d < point.size(); ++d) {
      if (process_->kernel().is_categorical(d)) continue;
      (*slopes)[d] = std::exp(-2 * parameters.log_lengths[d]) *
                     (by_square * (point[d] - running.col(d).array())).sum();
    }
  }
  return (-(-exponents).exp()).log1p().sum();
}

std::vector<double> GpAcquisition::values(const std::vector<Point>& points) const {
  Eigen::MatrixXd inputs(static_cast<Eigen::Index>(points.size()), process_->dimensions());
  for (std::size_t i = 0; i < points.size(); ++i) {
    inputs.row(static_cast<Eigen::Index>(i)) = kernel_inputs(*space_, points[i]);
  }
  const GaussianProcess::Predictions at = process_->predict(inputs);
  std::vector<double> values(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    values[i] = std::log(at.deviations[row]) +
                log_improvement((task_.best - at.means[row]) / at.deviations[row]).value +
                log_distance(inputs.row(row), nullptr);
  }
  return values;
}

Point GpAcquisition::near(const Point& centre, Random& random) const {
  Point point(space_->size(), std::numeric_limits<double>::quiet_NaN());
  const double width = std::pow(10.0, -0.5 - 2.0 * random.uniform());
  // A few dimensions at a time, or all of them.
  const double open = static_cast<double>(space_->size());
  const double share = random.uniform() < 0.5 ? 1.0 : std::min(1.0, 2.0 / open);
  for (std::size_t d = 0; d < space_->size(); ++d) {
    const double drawn = space_->sample(d, random);
    const bool moves = random.uniform() < share;
    const double away = random.normal();
    if (!space_->is_active(d, point)) continue;
    if (!is_open(d)) {
      point[d] = task_.fixed[d];
    } else if (std::isnan(centre[d])) {
      point[d] = drawn;
    } else if (space_->dimensions()[d].is_categorical) {
      point[d] = moves && away > 1 ? drawn : centre[d];
    } else {
      point[d] =
          moves ? space_->snapped(d, std::clamp(centre[d] + width * away, 0.0, 1.0)) : centre[d];
    }
  }
  return point;
}

std::vector<Point> GpAcquisition::candidates(const std::vector<Point>& good, Random& random) const {
  const double n = static_cast<double>(process_->size());
  const auto count = static_cast<std::size_t>(
      std::clamp(candidate_work / (n * n), fewest_candidates, most_candidates));
  std::vector<Point> points;
  for (std::size_t i = 0; i < count; ++i) {
    Point point = i % 2 == 0 || good.empty() ? space_->sample(task_.fixed, random)
                                             : near(good[(i / 2) % good.size()], random);
    if (is_allowed_(point)) points.push_back(std::move(point));
  }
  return points;
}

void GpAcquisition::climb(Proposal& proposal) const {
  std::vector<std::size_t> free;
  for (std::size_t d = 0; d < space_->size(); ++d) {
    const Dimension& dimension = space_->dimensions()[d];
    const bool is_coarse = dimension.count && *dimension.count <= most_listed_options;
    if (is_open(d) && !std::isnan(proposal.point[d]) && !dimension.is_categorical && !is_coarse) {
      free.push_back(d);
    }
  }
  if (free.empty()) return;
  const auto count = static_cast<Eigen::Index>(free.size());
  Eigen::RowVectorXd inputs = kernel_inputs(*space_, proposal.point);
  Eigen::VectorXd start(count);
  for (Eigen::Index i = 0; i < count; ++i)
    start[i] = proposal.point[free[static_cast<std::size_t>(i)]];
  const auto descent = [&](const Eigen::VectorXd& x, Eigen::VectorXd& gradient) {
    for (Eigen::Index i = 0; i < count; ++i) {
      inputs[static_cast<Eigen::Index>(free[static_cast<std::size_t>(i)])] = x[i];
    }
    const GaussianProcess::Prediction at = process_->predict_with_slopes(inputs);
    const double z = (task_.best - at.mean) / at.deviation;
    const LogImprovement improvement = log_improvement(z);
    Eigen::RowVectorXd distance_slopes = Eigen::RowVectorXd::Zero(inputs.size());
    const double distance = log_distance(inputs, &distance_slopes);
    for (Eigen::Index i = 0; i < count; ++i) {
      const auto d = static_cast<Eigen::Index>(free[static_cast<std::size_t>(i)]);
      gradient[i] = (improvement.slope * at.mean_slopes[d] -
                     (1 - z * improvement.slope) * at.deviation_slopes[d]) /
                        at.deviation -
                    distance_slopes[d];
    }
    return -(std::log(at.deviation) + improvement.value + distance);
  };
  const BoxMinimum found = minimize_in_box(descent, start, Eigen::VectorXd::Zero(count),
                                           Eigen::VectorXd::Ones(count), climb_evaluations);
  Point moved = proposal.point;
  for (Eigen::Index i = 0; i < count; ++i) {
    const std::size_t d = free[static_cast<std::size_t>(i)];
    moved[d] = space_->snapped(d, found.x[i]);
  }
  if (!is_allowed_(moved)) return;
  const double value = values({moved}).front();
  if (value > proposal.value) proposal = {.point = std::move(moved), .value = value};
}

std::vector<double> GpAcquisition::places_to_try(std::size_t d, double place) const {
  const Dimension& dimension = space_->dimensions()[d];
  std::vector<double> places;
  if (!dimension.count || *dimension.count > most_neighbour_values) return places;
  const auto options = static_cast<double>(*dimension.count);
  if (dimension.is_categorical) {
    if (*dimension.count > most_neighbour_values / 10) return places;
    for (double option = 0; option < options; ++option) {
      if (option != place) places.push_back(option);
    }
    return places;
  }
  // Outwards from here, cell after cell.
  const int steps = *dimension.count <= most_listed_options ? 12 : 2;
  double below = place;
  double above = place;
  for (int i = 0; i < steps; ++i) {
    const double lower = space_->snapped(d, space_->cell(d, below).first - 1e-9);
    if (lower < below) places.push_back(below = lower);
    const double upper = space_->snapped(d, space_->cell(d, above).last + 1e-9);
    if (upper > above) places.push_back(above = upper);
  }
  return places;
}

Point GpAcquisition::changed(const Point& point, std::size_t d, double place,
                             const Point& donor) const {
  Point result = point;
  result[d] = place;
  for (std::size_t below = d + 1; below < space_->size(); ++below) {
    if (space_->dimensions()[below].conditions.empty()) continue;
    if (!space_->is_active(below, result)) {
      result[below] = std::numeric_limits<double>::quiet_NaN();
    } else if (std::isnan(result[below])) {
      result[below] = is_open(below) ? donor[below] : task_.fixed[below];
      if (std::isnan(result[below])) {
        result[below] =
            space_->snapped(below, space_->dimensions()[below].is_categorical ? 0 : middle);
      }
    }
  }
  return result;
}

bool GpAcquisition::step_through(Proposal& proposal, const std::vector<Point>& donors) const {
  bool has_moved = false;
  for (std::size_t d = 0; d < space_->size(); ++d) {
    if (!is_open(d) || std::isnan(proposal.point[d])) continue;
    std::vector<Point> tried;
    for (const double place : places_to_try(d, proposal.point[d])) {
      const auto has_place = [&](const Point& donor) { return donor[d] == place; };
      const auto donor = std::find_if(donors.begin(), donors.end(), has_place);
      Point point =
          changed(proposal.point, d, place, donor == donors.end() ? proposal.point : *donor);
      if (is_allowed_(point)) tried.push_back(std::move(point));
    }
    if (tried.empty()) continue;
    const std::vector<double> found = values(tried);
    const auto best = std::max_element(found.begin(), found.end());
    if (!(*best > proposal.value + 1e-6)) continue;
    proposal = {.point = tried[static_cast<std::size_t>(best - found.begin())], .value = *best};
    has_moved = true;
  }
  return has_moved;
}

std::optional<GpAcquisition::Proposal> GpAcquisition::maximize(const std::vector<Point>& good,
                                                               Random& random) const {
  const std::vector<Point> points = candidates(good, random);
  if (points.empty()) return std::nullopt;
  const std::vector<double> found = values(points);
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto is_first = [&](std::size_t a, std::size_t b) {
    return found[a] != found[b] ? found[a] > found[b] : a < b;
  };
  std::sort(order.begin(), order.end(), is_first);
  // Donors of what a change of branch makes active: the likeliest improvements.
  std::vector<Point> donors;
  for (const std::size_t i : order) donors.push_back(points[i]);
  std::optional<Proposal> best;
  std::vector<Point> begun;
  for (const std::size_t i : order) {
    if (begun.size() == starts) break;
    const auto is_begun = [&](const Point& other) { return is_same(other, points[i]); };
    if (std::any_of(begun.begin(), begun.end(), is_begun)) continue;
    begun.push_back(points[i]);
    Proposal proposal{.point = points[i], .value = found[i]};
    for (int round = 0; round < rounds; ++round) {
      climb(proposal);
      if (!step_through(proposal, donors)) break;
    }
    if (!best || proposal.value > best->value) best = std::move(proposal);
  }
  return best;
}

}  // namespace tune::searchers
