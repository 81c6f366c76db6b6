#include "cma_start.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <Eigen/Cholesky>

namespace tune::searchers {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
// Of Nomura et al.: the share of the source that counts as promising (gamma), and how wide the
// neighbourhood of each of its trials is (alpha).
constexpr double promising_share = 0.1;
constexpr double neighbourhood = 0.1;
// How far the probabilities move from equal ones to what is known at the start.
constexpr double known_share = 0.5;

// Hamano et al. 2024, section 4.2.
double least_probability(std::size_t options, std::size_t parameters) {
  if (options < 2) return 0;
  const double share = 1 - std::pow(0.73, 1 / static_cast<double>(parameters));
  return share / static_cast<double>(options - 1);
}

std::vector<OptionProbabilities> equal_probabilities(const CmaParameters& parameters) {
  const std::vector<std::size_t> counts = parameters.option_counts();
  std::vector<OptionProbabilities> probabilities;
  for (const std::size_t count : counts) {
    const double most = 1 / static_cast<double>(count);
    probabilities.emplace_back(count, std::min(most, least_probability(count, counts.size())));
  }
  return probabilities;
}

void lean_to(std::vector<OptionProbabilities>& probabilities,
             const std::vector<std::int64_t>& options, double rate) {
  for (std::size_t j = 0; j < probabilities.size(); ++j) {
    if (options[j] < 0) continue;
    probabilities[j].move_to(static_cast<std::size_t>(options[j]), rate);
    probabilities[j].keep_least();
  }
}

Eigen::VectorXd middle_of(const CmaParameters& parameters) {
  return Eigen::VectorXd::Constant(static_cast<Eigen::Index>(parameters.numbers()), 0.5);
}

bool is_diagonal(const CmaParameters& parameters, const CmaEsOptions& options) {
  return std::cmp_greater(parameters.numbers(), options.full_covariance_up_to);
}

CmaStart start_from_source(const CmaParameters& parameters, const CmaEsOptions& options,
                           double sign) {
  std::vector<const CmaSourceTrial*> best;
  for (const CmaSourceTrial& trial : options.source) {
    if (std::isfinite(trial.value)) best.push_back(&trial);
  }
  std::stable_sort(best.begin(), best.end(), [sign](const auto* a, const auto* b) {
    return sign * a->value < sign * b->value;
  });
  const double share = promising_share * static_cast<double>(best.size());
  best.resize(std::min(best.size(), static_cast<std::size_t>(std::ceil(share))));

  CmaStart start{.distribution = {}, .probabilities = equal_probabilities(parameters)};
  const Eigen::VectorXd middle = middle_of(parameters);
  Eigen::MatrixXd places(middle.size(), static_cast<Eigen::Index>(best.size()));
  for (std::size_t i = 0; i < best.size(); ++i) {
    const Point point = parameters.space().encode(best[i]->config);
    places.col(static_cast<Eigen::Index>(i)) = parameters.place(point, middle);
    lean_to(start.probabilities, parameters.options(point),
            known_share / static_cast<double>(best.size()));
  }
  if (best.empty() || middle.size() == 0) {
    start.distribution = CmaDistribution(middle, options.sigma0, is_diagonal(parameters, options));
    return start;
  }
  const Eigen::VectorXd mean = places.rowwise().mean();
  const Eigen::MatrixXd centred = places.colwise() - mean;
  Eigen::MatrixXd covariance = centred * centred.transpose() / static_cast<double>(best.size());
  covariance.diagonal().array() += neighbourhood * neighbourhood;
  if (is_diagonal(parameters, options)) {
    const double mean_log = covariance.diagonal().array().log().mean();
    start.distribution = CmaDistribution(mean, std::exp(0.5 * mean_log), true);
    return start;
  }
  // sigma^2 is the d-th root of the determinant.
  const Eigen::LLT<Eigen::MatrixXd> cholesky(covariance);
  const double sigma = std::exp(cholesky.matrixLLT().diagonal().array().log().mean());
  start.distribution = CmaDistribution(mean, sigma, Eigen::MatrixXd(covariance / (sigma * sigma)));
  return start;
}

}  // namespace

CmaParameters::CmaParameters(const SearchSpace& space) : space_(space) {
  for (std::size_t d = 0; d < space_.size(); ++d) {
    const Dimension& dimension = space_.dimensions()[d];
    if (dimension.domain.kind() == Domain::Kind::grid_search || dimension.count == 1) continue;
    (dimension.is_categorical ? options_ : numbers_).push_back(d);
  }
}

bool CmaParameters::is_continuous(std::size_t number) const {
  return space_.dimensions()[numbers_[number]].is_continuous();
}

UnitInterval CmaParameters::cell(std::size_t number, double coordinate) const {
  return space_.cell(numbers_[number], coordinate);
}

std::vector<std::size_t> CmaParameters::option_counts() const {
  std::vector<std::size_t> counts;
  for (const std::size_t d : options_) {
    counts.push_back(static_cast<std::size_t>(*space_.dimensions()[d].count));
  }
  return counts;
}

std::vector<std::string> CmaParameters::option_paths() const {
  std::vector<std::string> paths;
  for (const std::size_t d : options_) paths.push_back(space_.dimensions()[d].path);
  return paths;
}

Point CmaParameters::point(const Eigen::VectorXd& place, const std::vector<std::int64_t>& options,
                           const Point& fixed) const {
  // What is neither has one value: that at any place.
  Point all(space_.size(), 0.0);
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    all[numbers_[i]] = place(static_cast<Eigen::Index>(i));
  }
  for (std::size_t j = 0; j < options_.size(); ++j) {
    all[options_[j]] = static_cast<double>(options[j]);
  }
  Point point(space_.size(), nothing);
  for (std::size_t d = 0; d < space_.size(); ++d) {
    if (!space_.is_active(d, point)) continue;
    point[d] = std::isnan(fixed[d]) ? all[d] : fixed[d];
  }
  return point;
}

Eigen::VectorXd CmaParameters::place(const Point& point, const Eigen::VectorXd& otherwise) const {
  Eigen::VectorXd place = otherwise;
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    if (!std::isnan(point[numbers_[i]])) place(static_cast<Eigen::Index>(i)) = point[numbers_[i]];
  }
  return place;
}

std::vector<std::int64_t> CmaParameters::options(const Point& point) const {
  std::vector<std::int64_t> options;
  for (const std::size_t d : options_) {
    options.push_back(point[d] >= 0 ? static_cast<std::int64_t>(point[d]) : -1);
  }
  return options;
}

Point CmaParameters::snapped(Point point) const {
  for (const std::size_t d : numbers_) {
    if (!std::isnan(point[d])) point[d] = space_.snapped(d, point[d]);
  }
  return point;
}

Eigen::VectorXd CmaParameters::with_option_axes(const Eigen::VectorXd& place,
                                                const std::vector<std::int64_t>& options) const {
  const std::vector<std::size_t> counts = option_counts();
  std::size_t axes = 0;
  for (const std::size_t count : counts) axes += count;
  Eigen::VectorXd all = Eigen::VectorXd::Zero(place.size() + static_cast<Eigen::Index>(axes));
  all.head(place.size()) = place;
  auto first = place.size();
  for (std::size_t j = 0; j < counts.size(); ++j) {
    if (options[j] >= 0) all(first + static_cast<Eigen::Index>(options[j])) = 1;
    first += static_cast<Eigen::Index>(counts[j]);
  }
  return all;
}

std::string rule_for_options(const CmaParameters& parameters) {
  std::string paths;
  for (const std::string& path : parameters.option_paths()) {
    paths += (paths.empty() ? "" : ", ") + path;
  }
  if (paths.empty()) return {};
  return "cma_es has no order for the options of " + paths +
         ": they are drawn by probabilities that follow the better trials";
}

CmaStart start_of(const CmaParameters& parameters, const CmaEsOptions& options, double sign) {
  if (!options.source.empty()) return start_from_source(parameters, options, sign);
  const Point point = parameters.space().encode(options.x0);
  CmaStart start{.distribution = CmaDistribution(parameters.place(point, middle_of(parameters)),
                                                 options.sigma0, is_diagonal(parameters, options)),
                 .probabilities = equal_probabilities(parameters)};
  lean_to(start.probabilities, parameters.options(point), known_share);
  return start;
}

CmaStart random_start(const CmaParameters& parameters, const CmaEsOptions& options, double sigma,
                      Random& random) {
  Eigen::VectorXd mean = middle_of(parameters);
  for (double& coordinate : mean) coordinate = random.uniform();
  return {.distribution = CmaDistribution(std::move(mean), sigma, is_diagonal(parameters, options)),
          .probabilities = equal_probabilities(parameters)};
}

}  // namespace tune::searchers
