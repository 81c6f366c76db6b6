#include "gp_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/saved_number.hpp"
#include "gp_acquisition.hpp"

namespace tune::searchers {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t most_to_fit = 256;
constexpr std::size_t best_to_fit = 96;
constexpr int fit_evaluations = 40;
// A fit starts from the last parameters; while fits are cheap, and now and then, from the prior's
// too.
constexpr std::size_t few_rows = 60;
constexpr std::uint64_t fits_between_fresh_starts = 4;

bool counts(const Observation& observation) {
  return !observation.is_running() && (observation.is_failure() || observation.has_loss());
}

// Of the points that chance finds.
double most_active(const EncodedSpace& space) {
  const Point open(space.size(), std::numeric_limits<double>::quiet_NaN());
  Random random(0, "gp/active");
  std::ptrdiff_t most = 1;
  for (int i = 0; i < 64; ++i) {
    const Point point = space.sample(open, random);
    most = std::max(most, std::count_if(point.begin(), point.end(),
                                        [](double place) { return !std::isnan(place); }));
  }
  return static_cast<double>(most);
}

Eigen::VectorXd as_vector(const std::vector<double>& values) {
  return Eigen::VectorXd::Map(values.data(), static_cast<Eigen::Index>(values.size()));
}

}  // namespace

GpModel::GpModel(const EncodedSpace& space, const Observations& observations,
                 std::optional<double> fixed_noise, Limits limits)
    : space_(&space), observations_(&observations), fixed_noise_(fixed_noise), limits_(limits) {
  std::vector<bool> is_categorical;
  for (const Dimension& dimension : space.dimensions()) {
    is_categorical.push_back(dimension.is_categorical);
  }
  kernel_ = MaternKernel(std::move(is_categorical));
  process_ = GaussianProcess(kernel_);
  active_dimensions_ = most_active(space);
}

std::vector<std::size_t> GpModel::unknown() const {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < observations_->size(); ++i) {
    const bool is_known = i < is_known_.size() && is_known_[i];
    if (!is_known && counts(observations_->all()[i])) numbers.push_back(i);
  }
  return numbers;
}

void GpModel::update() {
  const std::vector<std::size_t> added = unknown();
  if (added.empty()) return;
  if (!parameters_) {
    const auto& all = observations_->all();
    const auto finite = std::count_if(all.begin(), all.end(), [](const Observation& observation) {
      return counts(observation) && !observation.is_failure() && std::isfinite(observation.loss);
    });
    if (static_cast<std::size_t>(finite) < limits_.startup) return;
  }
  const std::size_t grown = rows_.size() + added.size() - rows_at_fit_;
  if (!parameters_ || !is_usable_ || grown >= std::max<std::size_t>(1, rows_at_fit_ / 20)) {
    refit();
    return;
  }
  is_known_.resize(observations_->size());
  for (const std::size_t number : added) {
    append(number, warp_(scale_(loss_of(observations_->all()[number]))));
  }
  process_.solve();
}

void GpModel::append(std::size_t number, double y) {
  process_.append(kernel_inputs(*space_, observations_->all()[number].point), y);
  rows_.push_back(number);
  y_.push_back(y);
  is_known_[number] = true;
}

double GpModel::loss_of(const Observation& observation) const {
  if (observation.is_failure()) return infinity;
  if (observation.state == Observation::State::stopped_early &&
      observation.iteration < floor_iteration_) {
    return std::max(observation.loss, floor_loss_);
  }
  return observation.loss;
}

void GpModel::set_floor() {
  floor_iteration_ = 0;
  std::vector<double> losses;
  for (const Observation& observation : observations_->all()) {
    if (!counts(observation) || observation.is_failure()) continue;
    if (observation.iteration < floor_iteration_) continue;
    if (observation.iteration > floor_iteration_) losses.clear();
    floor_iteration_ = observation.iteration;
    losses.push_back(observation.loss);
  }
  if (losses.empty()) return;
  const auto middle = losses.begin() + static_cast<std::ptrdiff_t>(losses.size() / 2);
  std::nth_element(losses.begin(), middle, losses.end());
  floor_loss_ = *middle;
}

// In the order of the trials.
std::vector<std::size_t> GpModel::chosen() const {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < observations_->size(); ++i) {
    if (counts(observations_->all()[i])) numbers.push_back(i);
  }
  if (numbers.size() <= limits_.largest) return numbers;
  const auto newest = static_cast<std::ptrdiff_t>(limits_.largest / 2);
  const auto rest = static_cast<std::ptrdiff_t>(limits_.largest) - newest;
  std::stable_sort(numbers.begin(), numbers.end() - newest, [&](std::size_t a, std::size_t b) {
    return loss_of(observations_->all()[a]) < loss_of(observations_->all()[b]);
  });
  numbers.erase(numbers.begin() + rest, numbers.end() - newest);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// The best ones, and of the others some that are spread evenly over time.
std::vector<std::size_t> GpModel::for_fit() const {
  if (rows_.size() <= most_to_fit) return rows_;
  std::vector<std::size_t> numbers = rows_;
  std::stable_sort(numbers.begin(), numbers.end(), [&](std::size_t a, std::size_t b) {
    return loss_of(observations_->all()[a]) < loss_of(observations_->all()[b]);
  });
  const auto best = numbers.begin() + static_cast<std::ptrdiff_t>(best_to_fit);
  std::sort(best, numbers.end());
  const std::vector<std::size_t> others(best, numbers.end());
  numbers.erase(best, numbers.end());
  constexpr std::size_t wanted = most_to_fit - best_to_fit;
  for (std::size_t i = 0; i < wanted; ++i) numbers.push_back(others[i * others.size() / wanted]);
  return numbers;
}

Eigen::MatrixXd GpModel::inputs(const std::vector<std::size_t>& numbers) const {
  Eigen::MatrixXd x(static_cast<Eigen::Index>(numbers.size()), kernel_.dimensions());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    x.row(static_cast<Eigen::Index>(i)) =
        kernel_inputs(*space_, observations_->all()[numbers[i]].point);
  }
  return x;
}

Eigen::VectorXd GpModel::scaled(const std::vector<std::size_t>& numbers) const {
  Eigen::VectorXd values(static_cast<Eigen::Index>(numbers.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    values[static_cast<Eigen::Index>(i)] = scale_(loss_of(observations_->all()[numbers[i]]));
  }
  return values;
}

void GpModel::refit() {
  set_floor();
  rows_ = chosen();
  rows_at_fit_ = rows_.size();
  is_known_.assign(observations_->size(), false);
  for (std::size_t i = 0; i < observations_->size(); ++i) {
    is_known_[i] = counts(observations_->all()[i]);
  }
  std::vector<double> losses;
  for (const std::size_t number : rows_) losses.push_back(loss_of(observations_->all()[number]));
  scale_ = LossScale(losses);

  std::vector<GpParameters> starts;
  if (parameters_) starts.push_back(*parameters_);
  if (!parameters_ || rows_.size() <= few_rows || fits_ % fits_between_fresh_starts == 0) {
    starts.push_back(GpParameters::prior(kernel_, active_dimensions_, fixed_noise_));
  }
  const std::vector<std::size_t> fitted = for_fit();
  const GpData data{
      .x = inputs(fitted), .scaled = scaled(fitted), .active_dimensions = active_dimensions_};
  parameters_ = fit_gp(kernel_, data, fixed_noise_, starts, fit_evaluations);
  ++fits_;
  warp_ = LossWarp(parameters_->log_softness, data.scaled);

  const Eigen::VectorXd y = warp_(scaled(rows_));
  y_.assign(y.begin(), y.end());
  is_usable_ = process_.set(parameters_->kernel, inputs(rows_), y);
  if (is_usable_) process_.solve();
}

Json GpModel::save() const {
  if (!parameters_) return Json::object();
  std::vector<bool> is_row(is_known_.size());
  for (const std::size_t number : rows_) is_row[number] = true;
  std::vector<std::size_t> left_out;  // by the last fit
  for (std::size_t i = 0; i < is_known_.size(); ++i) {
    if (is_known_[i] && !is_row[i]) left_out.push_back(i);
  }
  const Eigen::VectorXd theta = GpPosterior::packed(*parameters_);
  return {{"parameters", std::vector<double>(theta.begin(), theta.end())},
          {"fits", fits_},
          {"scale", scale_.save()},
          {"warp", warp_.save()},
          {"floor", {floor_iteration_, core::saved_number(floor_loss_)}},
          {"rows_at_fit", rows_at_fit_},
          {"rows", rows_},
          {"y", y_},
          {"left_out", left_out}};
}

void GpModel::restore(const Json& state) {
  if (state.empty()) return;
  parameters_ = GpPosterior::unpacked(as_vector(state.at("parameters").get<std::vector<double>>()));
  fits_ = state.at("fits").get<std::uint64_t>();
  scale_.restore(state.at("scale"));
  warp_.restore(state.at("warp"));
  floor_iteration_ = state.at("floor").at(0).get<std::int64_t>();
  floor_loss_ = core::restored_number(state.at("floor").at(1), "gp");
  rows_at_fit_ = state.at("rows_at_fit").get<std::size_t>();
  const auto rows = state.at("rows").get<std::vector<std::size_t>>();
  const auto y = state.at("y").get<std::vector<double>>();
  is_known_.assign(observations_->size(), false);
  for (const std::size_t i : state.at("left_out").get<std::vector<std::size_t>>()) {
    is_known_[i] = true;
  }
  // The same steps as then: the rows of the last fit at once, those since one by one.
  const auto at_once = static_cast<std::ptrdiff_t>(rows_at_fit_);
  rows_.assign(rows.begin(), rows.begin() + at_once);
  y_.assign(y.begin(), y.begin() + at_once);
  for (const std::size_t i : rows_) is_known_[i] = true;
  is_usable_ = process_.set(parameters_->kernel, inputs(rows_), as_vector(y_));
  if (!is_usable_) return;
  for (std::size_t i = rows_at_fit_; i < rows.size(); ++i) append(rows[i], y[i]);
  process_.solve();
}

}  // namespace tune::searchers
