#include <tune/schedulers/pbt.hpp>

#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include "core/number_text.hpp"
#include "explore.hpp"
#include "population_scheduler.hpp"

namespace tune {
namespace {

using core::number_text;
using schedulers::Exploration;
using schedulers::PopulationOptions;
using schedulers::PopulationScheduler;

PopulationOptions population_options_of(const PbtOptions& options) {
  return {.name = "pbt",
          .time_attr = options.time_attr,
          .metric = options.metric,
          .mode = options.mode,
          .perturbation_interval = options.perturbation_interval,
          .burn_in_period = options.burn_in_period,
          .quantile_fraction = options.quantile_fraction,
          .log_config = options.log_config,
          .synch = options.synch};
}

class Pbt final : public PopulationScheduler {
 public:
  explicit Pbt(PbtOptions options)
      : PopulationScheduler(population_options_of(options)), options_(std::move(options)) {
    check_factors();
    for (const SearchSpace::Parameter& parameter : options_.hyperparam_mutations.parameters()) {
      if (!schedulers::is_explorable(parameter.domain)) {
        refuse("hyperparam_mutations: " + parameter.path + " is " + parameter.domain.describe() +
               ", want a domain of values, not a branch, a function or a constant");
      }
      mutations_.emplace(parameter.path, parameter.domain);
    }
    if (mutations_.empty() && !options_.custom_explore_fn) {
      refuse("hyperparam_mutations is empty, want a parameter at least, or a custom_explore_fn");
    }
  }

  void on_trial_added(SchedulerContext& context, const Trial& trial) override {
    check_has_one(trial);
    PopulationScheduler::on_trial_added(context, trial);
  }

  [[nodiscard]] Json options() const override {
    Json json = PopulationScheduler::options();
    json["resample_probability"] = options_.resample_probability;
    json["perturbation_factors"] = options_.perturbation_factors;
    json["require_attrs"] = options_.require_attrs;
    Json& mutations = json["hyperparam_mutations"] = Json::object();
    for (const auto& [path, domain] : mutations_) mutations[path] = domain.json();
    return json;
  }

 private:
  void check_factors() const {
    if (!(options_.resample_probability >= 0 && options_.resample_probability <= 1)) {
      refuse("resample_probability must be from 0 to 1, is " +
             number_text(options_.resample_probability));
    }
    for (const double factor : options_.perturbation_factors) {
      if (!(factor > 0) || !std::isfinite(factor)) {
        refuse("perturbation_factors must be above 0, one is " + number_text(factor));
      }
    }
  }

  // A misspelt name would explore nothing, and nobody would notice.
  void check_has_one(const Trial& trial) const {
    if (mutations_.empty()) return;
    for (const auto& [path, domain] : mutations_) {
      if (find_path(trial.config().json(), path) != nullptr) return;
    }
    refuse("trial " + std::to_string(trial.id().value()) +
           " has none of the parameters of hyperparam_mutations, the first of which is " +
           mutations_.begin()->first + "; its configuration is " +
           core::value_text(trial.config().json()));
  }

  [[nodiscard]] Config explore(const SchedulerContext&, const Trial&, const Trial& donor,
                               Random& random) override {
    const Exploration exploration{options_.resample_probability, options_.perturbation_factors};
    Json config = donor.config().json();
    for (const auto& [path, domain] : mutations_) {
      const Json* value = find_path(config, path);
      if (value == nullptr) continue;
      // `config` is ours: find_path() only has no overload for it.
      const_cast<Json&>(*value) = schedulers::explored_value(domain, *value, exploration, random);
    }
    Config explored(std::move(config));
    return options_.custom_explore_fn ? options_.custom_explore_fn(explored) : explored;
  }

  PbtOptions options_;
  std::map<std::string, Domain> mutations_;  // by path, so that draws have a fixed order
};

}  // namespace

std::unique_ptr<TrialScheduler> pbt(const PbtOptions& options) {
  return std::make_unique<Pbt>(options);
}

}  // namespace tune
