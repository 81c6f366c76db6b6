#include <tune/searchers/gp.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gp_acquisition.hpp"
#include "gp_model.hpp"
#include "searchers/encoded_space.hpp"
#include "searchers/observations.hpp"

namespace tune {
namespace {

using searchers::EncodedSpace;
using searchers::GpAcquisition;
using searchers::GpModel;
using searchers::Observation;
using searchers::Observations;
using searchers::Point;

constexpr std::size_t good_points = 5;
constexpr std::size_t most_good_points = 16;
constexpr int most_draws = 100;
// Where there are options, each fourth point improves on the best with an option that was tried
// little, not on the best of all: expected improvement alone can stay with the options of the first
// good trials for good.
constexpr std::size_t asks_between_contrasts = 4;
constexpr std::uint64_t most_contrasted = 16;  // options of a dimension

GpOptions checked(const GpOptions& options) {
  if (options.startup_trials < 1) {
    throw std::invalid_argument("gp: startup_trials must be at least 1, is " +
                                std::to_string(options.startup_trials));
  }
  if (options.noise && !(*options.noise >= 0 && *options.noise <= 1)) {
    throw std::invalid_argument("gp: noise must be in [0, 1], is " +
                                std::to_string(*options.noise));
  }
  if (options.max_observations < 10) {
    throw std::invalid_argument("gp: max_observations must be at least 10, is " +
                                std::to_string(options.max_observations));
  }
  return options;
}

class GpSearch final : public Searcher {
 public:
  explicit GpSearch(const GpOptions& options) : options_(checked(options)) {}

  void setup(const SearcherSetup& setup) override {
    seed_ = setup.seed;
    definition_ = setup.space;
    is_constrained_ = !setup.space->constraints().empty();
    space_ = EncodedSpace(*setup.space);
    observations_ = Observations(space_, setup.objective.value());
    model_ = GpModel(space_, observations_, options_.noise,
                     {.startup = static_cast<std::size_t>(options_.startup_trials),
                      .largest = static_cast<std::size_t>(options_.max_observations)});
    holds_conditions_.assign(space_.size(), false);
    for (const searchers::Dimension& dimension : space_.dimensions()) {
      for (const auto& [above, option] : dimension.conditions) holds_conditions_[above] = true;
    }
  }

  Suggestion suggest(const SuggestionRequest& request) override {
    fixed_values_ = request.fixed.json();
    Random random = request.random;
    const Point point = next_point(request, space_.encode(fixed_values_), random);
    return Config(space_.decode(point, fixed_values_));
  }
  std::string take_note() override { return std::exchange(note_, {}); }

  // Also here, since nobody is asked for the trials of an experiment that goes on.
  void on_trial_added(TrialId id, const Config& config) override {
    model_.update();
    observations_.on_trial_added(id, config);
  }
  void on_trial_completed(TrialId id, const Config& config, const Result& last) override {
    observations_.on_trial_completed(id, config, last);
  }
  void on_trial_failed(TrialId id, const Config& config, bool infeasible) override {
    observations_.on_trial_failed(id, config, infeasible);
  }
  [[nodiscard]] bool wants_results() const override { return false; }

  [[nodiscard]] Json save() const override {
    return {{"observations", observations_.save()},
            {"model", model_.save()},
            {"has_told_failure", has_told_failure_}};
  }
  void restore(const Json& state) override {
    observations_.restore(state.at("observations"));
    model_.restore(state.at("model"));
    has_told_failure_ = state.at("has_told_failure").get<bool>();
  }
  [[nodiscard]] Json options() const override {
    return {{"name", "gp"},
            {"startup_trials", options_.startup_trials},
            {"noise", options_.noise ? Json(*options_.noise) : Json()},
            {"max_observations", options_.max_observations}};
  }

 private:
  Point next_point(const SuggestionRequest& request, const Point& fixed, Random& random) {
    model_.update();
    // The answer before was a duplicate although none is proposed: in a small space, where chance
    // soon finds what is left.
    if (request.attempt > 0) return drawn(fixed, random);
    if (model_.has_failed()) {
      if (!has_told_failure_)
        note_ = "gp: the model cannot be factored, values are drawn at random";
      has_told_failure_ = true;
      return drawn(fixed, random);
    }
    if (model_.process() == nullptr) {
      Point point = spread(fixed);
      return allows(point) ? point : drawn(fixed, random);
    }
    searchers::GaussianProcess& process = *model_.process();
    const Eigen::Index ended = process.size();
    for (const Observation& observation : observations_.all()) {
      if (!observation.is_running()) continue;
      process.append_believed(kernel_inputs(space_, observation.point));
    }
    const bool has_running = process.size() > ended;
    if (has_running) process.solve();
    const std::optional<Point> found = improvement(process, ended, fixed, random);
    process.truncate(ended);
    if (has_running) process.solve();
    return found ? *found : drawn(fixed, random);
  }

  [[nodiscard]] std::optional<Point> improvement(const searchers::GaussianProcess& process,
                                                 Eigen::Index ended, const Point& fixed,
                                                 Random& random) const {
    const Eigen::VectorXd means = process.means_at_observations();
    const std::set<Point> tried = tried_points();
    const auto is_new = [&](const Point& point) {
      return allows(point) && !tried.contains(comparable(point));
    };
    const Point aim = observations_.size() % asks_between_contrasts == 0
                          ? contrast(means.head(ended), fixed)
                          : fixed;
    double best = std::numeric_limits<double>::infinity();
    for (Eigen::Index row = 0; row < ended; ++row) {
      if (fits(point_of(row), aim)) best = std::min(best, means[row]);
    }
    if (!std::isfinite(best)) best = means.minCoeff();
    const GpAcquisition acquisition(
        space_, process, {.best = best, .running = process.size() - ended, .fixed = aim}, is_new);
    auto found = acquisition.maximize(good(means.head(ended), aim), random);
    return found ? std::optional(std::move(found->point)) : std::nullopt;
  }

  [[nodiscard]] const Point& point_of(Eigen::Index row) const {
    return observations_.all()[model_.rows()[static_cast<std::size_t>(row)]].point;
  }

  [[nodiscard]] static bool fits(const Point& point, const Point& fixed) {
    for (std::size_t d = 0; d < point.size(); ++d) {
      if (!std::isnan(fixed[d]) && point[d] != fixed[d]) return false;
    }
    return true;
  }

  // `fixed` with the option that was tried least of those that the best point does not have, and
  // the branch keys on the way to it.
  [[nodiscard]] Point contrast(const Eigen::VectorXd& means, const Point& fixed) const {
    Eigen::Index best = 0;
    means.minCoeff(&best);
    Point aim = fixed;
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (std::size_t d = 0; d < space_.size(); ++d) {
      const searchers::Dimension& dimension = space_.dimensions()[d];
      if (!dimension.is_categorical || *dimension.count > most_contrasted) continue;
      std::vector<std::size_t> counts(*dimension.count);
      for (const Observation& observation : observations_.all()) {
        const double option = observation.point[d];
        if (!std::isnan(option)) ++counts[static_cast<std::size_t>(option)];
      }
      for (std::size_t option = 0; option < counts.size(); ++option) {
        const auto place = static_cast<double>(option);
        if (counts[option] >= least || point_of(best)[d] == place) continue;
        Point other = fixed;
        other[d] = place;
        for (const auto& [above, key] : dimension.conditions) {
          other[above] = static_cast<double>(key);
        }
        if (!fits(other, fixed)) continue;  // something else is fixed there
        least = counts[option];
        aim = std::move(other);
      }
    }
    return aim;
  }

  [[nodiscard]] static Point comparable(Point point) {
    for (double& place : point) {
      if (std::isnan(place)) place = -1;
    }
    return point;
  }

  [[nodiscard]] std::set<Point> tried_points() const {
    std::set<Point> tried;
    for (const Observation& observation : observations_.all()) {
      tried.insert(comparable(observation.point));
    }
    return tried;
  }

  // With what the request in hand fixes.
  [[nodiscard]] bool allows(const Point& point) const {
    return !is_constrained_ || definition_->is_allowed(space_.decode(point, fixed_values_));
  }

  [[nodiscard]] Point drawn(const Point& fixed, Random& random) const {
    Point point = space_.sample(fixed, random);
    for (int i = 1; i < most_draws && !allows(point); ++i) point = space_.sample(fixed, random);
    return point;
  }

  // The middle, around which people put what they expect, then points that leave no gap: the
  // additive recurrence by powers of the generalised golden ratio (Roberts, 2018), shifted by
  // chance.
  [[nodiscard]] Point spread(const Point& fixed) const {
    const auto index = static_cast<double>(observations_.size() + 1);
    const auto count = static_cast<double>(space_.size());
    double ratio = 2;
    for (int i = 0; i < 60; ++i) ratio = std::pow(1 + ratio, 1 / (count + 1));
    Random random(seed_, "gp/spread");
    Point point(space_.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t d = 0; d < space_.size(); ++d) {
      const double whole = random.uniform() + index * std::pow(ratio, -static_cast<double>(d + 1));
      const bool is_in_middle = observations_.size() == 0 && !space_.dimensions()[d].is_categorical;
      const double place = is_in_middle ? 0.5 : whole - std::floor(whole);
      if (!space_.is_active(d, point)) continue;
      const searchers::Dimension& dimension = space_.dimensions()[d];
      if (!std::isnan(fixed[d])) {
        point[d] = fixed[d];
      } else if (dimension.is_categorical) {
        point[d] = std::floor(place * static_cast<double>(*dimension.count));
      } else {
        point[d] = space_.snapped(d, place);
      }
    }
    return point;
  }

  // The best points by predicted mean, and the best of each combination of branches.
  [[nodiscard]] std::vector<Point> good(const Eigen::VectorXd& means, const Point& aim) const {
    std::vector<std::size_t> order(model_.rows().size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return means[static_cast<Eigen::Index>(a)] < means[static_cast<Eigen::Index>(b)];
    });
    std::vector<Point> points;
    std::set<Point> branches;
    for (const std::size_t row : order) {
      const Point& point = point_of(static_cast<Eigen::Index>(row));
      if (!fits(point, aim)) continue;
      Point keys = comparable(point);
      for (std::size_t d = 0; d < keys.size(); ++d) {
        if (!holds_conditions_[d]) keys[d] = 0;
      }
      const bool is_first = branches.insert(std::move(keys)).second;
      if (points.size() < good_points || is_first) points.push_back(point);
      if (points.size() == most_good_points) break;
    }
    return points;
  }

  GpOptions options_;
  std::uint64_t seed_ = 0;
  const SearchSpace* definition_ = nullptr;
  bool is_constrained_ = false;
  EncodedSpace space_;
  Observations observations_;
  GpModel model_;
  std::vector<bool> holds_conditions_;  // of a dimension: others exist for some of its options
  Json fixed_values_;                   // of the request in hand
  std::string note_;
  bool has_told_failure_ = false;
};

}  // namespace

std::unique_ptr<Searcher> gp(const GpOptions& options) {
  return std::make_unique<GpSearch>(options);
}

}  // namespace tune
