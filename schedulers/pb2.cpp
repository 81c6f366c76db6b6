#include <tune/schedulers/pb2.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include <tune/search_space.hpp>

#include "core/number_text.hpp"
#include "population_scheduler.hpp"
#include "time_varying_bandit.hpp"

namespace tune {
namespace {

using core::number_text;
using schedulers::BanditObservation;
using schedulers::BanditPoint;
using schedulers::PopulationOptions;
using schedulers::PopulationScheduler;

PopulationOptions population_options_of(const Pb2Options& options) {
  return {.name = "pb2",
          .time_attr = options.time_attr,
          .metric = options.metric,
          .mode = options.mode,
          .perturbation_interval = options.perturbation_interval,
          .burn_in_period = 0,
          .quantile_fraction = options.quantile_fraction,
          .log_config = options.log_config,
          .synch = options.synch};
}

class Pb2 final : public PopulationScheduler {
 public:
  explicit Pb2(Pb2Options options)
      : PopulationScheduler(population_options_of(options)), options_(std::move(options)) {
    if (options_.hyperparam_bounds.empty()) {
      refuse("hyperparam_bounds is empty, want a parameter at least");
    }
    for (const auto& [path, bounds] : options_.hyperparam_bounds) {
      const auto [low, high] = bounds;
      if (std::isfinite(low) && std::isfinite(high) && low < high) continue;
      refuse("hyperparam_bounds: " + path + " has low " + number_text(low) + " and high " +
             number_text(high) + ", want low below high, both finite");
    }
  }

  void on_trial_added(SchedulerContext& context, const Trial& trial) override {
    for (const auto& [path, bounds] : options_.hyperparam_bounds) {
      const Json* value = find_path(trial.config().json(), path);
      if (value != nullptr && value->is_number()) continue;
      refuse("hyperparam_bounds has " + path + ", which is " +
             (value == nullptr ? "not there" : core::value_text(*value)) + " in trial " +
             std::to_string(trial.id().value()) + ", want a number");
    }
    PopulationScheduler::on_trial_added(context, trial);
  }

  [[nodiscard]] Json save() const override {
    Json observations = Json::array();
    for (const BanditObservation& seen : observations_) {
      observations.push_back({seen.at.x, seen.at.time, seen.gain});
    }
    Json bases = Json::array();
    for (const auto& [id, base] : bases_) {
      bases.push_back({id.value(), base.score, base.time, base.config});
    }
    Json state = PopulationScheduler::save();
    state["observations"] = std::move(observations);
    state["bases"] = std::move(bases);
    return state;
  }

  void restore(const Json& state) override {
    PopulationScheduler::restore(state);
    observations_.clear();
    for (const Json& seen : state.at("observations")) {
      observations_.push_back({{seen.at(0).get<std::vector<double>>(), seen.at(1).get<double>()},
                               seen.at(2).get<double>()});
    }
    bases_.clear();
    for (const Json& base : state.at("bases")) {
      bases_[TrialId{base.at(0).get<std::uint64_t>()}] = {base.at(1).get<double>(),
                                                          base.at(2).get<double>(), base.at(3)};
    }
  }

  [[nodiscard]] Json options() const override {
    Json json = PopulationScheduler::options();
    json.erase("burn_in_period");
    json["require_attrs"] = options_.require_attrs;
    json["hyperparam_bounds"] = options_.hyperparam_bounds;
    return json;
  }

 private:
  /// From where a member's gain is counted.
  struct Base {
    double score = 0;  // finite
    double time = 0;
    Json config;  // of a clone: what it should train under; else null
  };

  void on_score(const SchedulerContext&, const Trial& trial, double time, double score) override {
    const Json& config = trial.config().json();
    const auto base = bases_.find(trial.id());
    // A clone that could not be loaded goes on as before, and its base is the donor's.
    const bool counts = base != bases_.end() && std::isfinite(score) && time > base->second.time &&
                        (base->second.config.is_null() || base->second.config == config);
    if (counts) {
      const double change = score - base->second.score;
      const double gain = (mode() == Mode::max ? change : -change) *
                          options_.perturbation_interval / (time - base->second.time);
      if (std::isfinite(gain)) observe({{scaled(config), interval_of(time)}, gain});
    }
    if (std::isfinite(score)) {
      bases_[trial.id()] = {score, time, Json()};
    } else if (base != bases_.end()) {
      bases_.erase(base);
    }
  }

  void on_left(TrialId id) override { bases_.erase(id); }

  // Sums depend on the order, and simultaneous results come in any.
  static bool comes_before(const BanditObservation& a, const BanditObservation& b) {
    return std::tie(a.at.time, a.at.x, a.gain) < std::tie(b.at.time, b.at.x, b.gain);
  }

  void observe(BanditObservation observation) {
    constexpr std::size_t slack = 100;  // so that the oldest are dropped now and then only
    const auto place =
        std::upper_bound(observations_.begin(), observations_.end(), observation, &comes_before);
    observations_.insert(place, std::move(observation));
    if (observations_.size() < schedulers::most_observations + slack) return;
    observations_.erase(observations_.begin(), observations_.begin() + slack);
  }

  [[nodiscard]] Config explore(const SchedulerContext& context, const Trial& receiver,
                               const Trial& donor, Random& random) override {
    const std::optional<double> time =
        receiver.last_result() ? receiver.last_result()->number(options_.time_attr) : std::nullopt;
    const double now = time.value_or(0);
    const std::vector<double> chosen =
        schedulers::choose_point(observations_, tried_now(context, receiver.id(), now),
                                 interval_of(now), options_.hyperparam_bounds.size(), random);
    Json config = donor.config().json();
    std::size_t place = 0;
    for (const auto& [path, bounds] : options_.hyperparam_bounds) {
      const double value = bounds[0] + chosen[place++] * (bounds[1] - bounds[0]);
      // `config` is ours: find_path() only has no overload for it.
      auto& at = const_cast<Json&>(*find_path(config, path));
      at = at.is_number_integer() ? whole(value, bounds) : Json(value);
    }
    Config explored(std::move(config));
    if (options_.custom_explore_fn) explored = options_.custom_explore_fn(explored);
    if (const auto base = bases_.find(donor.id()); base != bases_.end()) {
      bases_[receiver.id()] = {base->second.score, now, explored.json()};
    }
    return explored;
  }

  static Json whole(double value, const std::array<double, 2>& bounds) {
    const double low = std::ceil(bounds[0]);
    const double high = std::max(low, std::floor(bounds[1]));
    const double rounded = std::clamp(std::round(value), low, high);
    return std::abs(rounded) < 0x1p63 ? Json(static_cast<std::int64_t>(rounded)) : Json(rounded);
  }

  // What other members train under at this time. O(members).
  [[nodiscard]] std::vector<BanditPoint> tried_now(const SchedulerContext& context,
                                                   TrialId receiver, double time) const {
    std::vector<BanditPoint> points;
    for (const auto& [id, trial] : context.live_trials()) {
      if (id == receiver) continue;
      points.push_back({scaled(trial.config().json()), interval_of(time)});
      if (points.size() == schedulers::most_pending) break;
    }
    return points;
  }

  [[nodiscard]] double interval_of(double time) const {
    return time / options_.perturbation_interval;
  }

  [[nodiscard]] std::vector<double> scaled(const Json& config) const {
    std::vector<double> x;
    for (const auto& [path, bounds] : options_.hyperparam_bounds) {
      const Json* value = find_path(config, path);
      const double number =
          value != nullptr && value->is_number() ? value->get<double>() : bounds[0];
      const double part = (number - bounds[0]) / (bounds[1] - bounds[0]);
      x.push_back(std::isfinite(part) ? part : 0.5);
    }
    return x;
  }

  Pb2Options options_;
  std::vector<BanditObservation> observations_;  // in order, the newest last
  std::map<TrialId, Base> bases_;
};

}  // namespace

std::unique_ptr<TrialScheduler> pb2(const Pb2Options& options) {
  return std::make_unique<Pb2>(options);
}

}  // namespace tune
