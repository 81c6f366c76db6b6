#include <tune/schedulers/builtin.hpp>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <tune/registry.hpp>
#include <tune/schedulers/asha.hpp>
#include <tune/schedulers/fifo.hpp>
#include <tune/schedulers/hyperband.hpp>
#include <tune/schedulers/median_stopping.hpp>
#include <tune/schedulers/pasha.hpp>
#include <tune/schedulers/pb2.hpp>
#include <tune/schedulers/pbt.hpp>
#include <tune/schedulers/pbt_replay.hpp>
#include <tune/schedulers/resource_changing.hpp>
#include <tune/schedulers/successive_halving.hpp>

#include "core/domain_json.hpp"
#include "core/number_text.hpp"
#include "core/option_reader.hpp"

namespace tune {
namespace {

std::unique_ptr<TrialScheduler> make_fifo(const Json& options) {
  core::OptionReader("fifo", options).finish();
  return fifo();
}

AshaOptions read_asha(const std::string& name, const Json& json) {
  AshaOptions options;
  core::OptionReader reader(name, json);
  reader.read("time_attr", options.time_attr);
  reader.read("metric", options.metric);
  reader.read("mode", options.mode);
  reader.read("max_t", options.max_t);
  reader.read("grace_period", options.grace_period);
  reader.read("reduction_factor", options.reduction_factor);
  reader.read("brackets", options.brackets);
  std::string type(to_string(options.type));
  reader.read("type", type);
  reader.read("stop_last_trials", options.stop_last_trials);
  reader.finish();
  try {
    options.type = asha_type_from_string(type);
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument(name + ": " + e.what());
  }
  return options;
}

std::unique_ptr<TrialScheduler> make_asha(const Json& json) {
  return asha(read_asha("asha", json));
}

std::unique_ptr<TrialScheduler> make_async_hyperband(const Json& json) {
  return async_hyperband(read_asha("async_hyperband", json));
}

// What HyperBand and successive halving have in common.
template <class Options>
void read_halving(core::OptionReader& reader, Options& options) {
  reader.read("time_attr", options.time_attr);
  reader.read("metric", options.metric);
  reader.read("mode", options.mode);
  reader.read("max_t", options.max_t);
  reader.read("reduction_factor", options.reduction_factor);
  reader.read("stop_last_trials", options.stop_last_trials);
}

HyperbandOptions read_hyperband(const std::string& name, const Json& json) {
  HyperbandOptions options;
  core::OptionReader reader(name, json);
  read_halving(reader, options);
  reader.finish();
  return options;
}

std::unique_ptr<TrialScheduler> make_hyperband(const Json& json) {
  return hyperband(read_hyperband("hyperband", json));
}

std::unique_ptr<TrialScheduler> make_bohb(const Json& json) {
  return hyperband_for_bohb(read_hyperband("bohb", json));
}

std::unique_ptr<TrialScheduler> make_successive_halving(const Json& json) {
  SuccessiveHalvingOptions options;
  core::OptionReader reader("successive_halving", json);
  read_halving(reader, options);
  reader.read("n", options.n);
  reader.read("grace_period", options.grace_period);
  reader.read("bracket", options.bracket);
  reader.finish();
  return successive_halving(options);
}

std::unique_ptr<TrialScheduler> make_pasha(const Json& json) {
  PashaOptions options;
  core::OptionReader reader("pasha", json);
  reader.read("time_attr", options.time_attr);
  reader.read("metric", options.metric);
  reader.read("mode", options.mode);
  reader.read("max_t", options.max_t);
  reader.read("grace_period", options.grace_period);
  reader.read("reduction_factor", options.reduction_factor);
  reader.read("ranking_criterion", options.ranking_criterion);
  reader.read("epsilon", options.epsilon);
  reader.read("epsilon_scaling", options.epsilon_scaling);
  reader.read("percentile", options.percentile);
  reader.read("ranked_trials", options.ranked_trials);
  reader.finish();
  return pasha(options);
}

std::unique_ptr<TrialScheduler> make_resource_changing(const Json& json) {
  ResourceChangingOptions options;
  Json base = {{"name", "fifo"}};
  core::OptionReader reader("resource_changing", json);
  reader.read("base", base);
  reader.read("increase_by_times", options.increase_by_times);
  reader.finish();
  const auto name = base.find("name");
  if (name == base.end() || !name->is_string()) {
    throw std::invalid_argument("resource_changing: base is " + base.dump() +
                                ", want an object with the name of a scheduler and its options");
  }
  return resource_changing(make_scheduler(name->get<std::string>(), base), std::move(options));
}

std::unique_ptr<TrialScheduler> make_median_stopping(const Json& json) {
  MedianStoppingOptions options;
  core::OptionReader reader("median_stopping", json);
  reader.read("time_attr", options.time_attr);
  reader.read("metric", options.metric);
  reader.read("mode", options.mode);
  reader.read("grace_period", options.grace_period);
  reader.read("min_samples_required", options.min_samples_required);
  reader.read("min_time_slice", options.min_time_slice);
  reader.read("hard_stop", options.hard_stop);
  reader.finish();
  return median_stopping(options);
}

std::array<double, 2> read_pair(const std::string& owner, const Json& json) {
  const bool is_pair =
      json.is_array() && json.size() == 2 && json[0].is_number() && json[1].is_number();
  if (!is_pair) {
    throw std::invalid_argument(owner + " is " + core::value_text(json) +
                                ", want a list of two numbers");
  }
  return {json[0].get<double>(), json[1].get<double>()};
}

// What PbtOptions and Pb2Options share.
template <class Options>
void read_population(core::OptionReader& reader, Options& options) {
  reader.read("time_attr", options.time_attr);
  reader.read("metric", options.metric);
  reader.read("mode", options.mode);
  reader.read("perturbation_interval", options.perturbation_interval);
  reader.read("quantile_fraction", options.quantile_fraction);
  reader.read("log_config", options.log_config);
  reader.read("require_attrs", options.require_attrs);
  reader.read("synch", options.synch);
}

std::unique_ptr<TrialScheduler> make_pbt(const Json& json) {
  PbtOptions options;
  core::OptionReader reader("pbt", json);
  Json mutations = Json::object();
  Json factors = options.perturbation_factors;
  read_population(reader, options);
  reader.read("burn_in_period", options.burn_in_period);
  reader.read("hyperparam_mutations", mutations);
  reader.read("resample_probability", options.resample_probability);
  reader.read("perturbation_factors", factors);
  reader.finish();
  options.hyperparam_mutations = core::space_from_json("pbt: hyperparam_mutations", mutations);
  options.perturbation_factors = read_pair("pbt: perturbation_factors", factors);
  return pbt(options);
}

std::unique_ptr<TrialScheduler> make_pb2(const Json& json) {
  Pb2Options options;
  core::OptionReader reader("pb2", json);
  Json bounds = Json::object();
  read_population(reader, options);
  reader.read("hyperparam_bounds", bounds);
  reader.finish();
  if (!bounds.is_object()) {
    throw std::invalid_argument("pb2: hyperparam_bounds is " + core::value_text(bounds) +
                                ", want an object of names and [low, high]");
  }
  for (const auto& [name, pair] : bounds.items()) {
    options.hyperparam_bounds[name] = read_pair("pb2: hyperparam_bounds." + name, pair);
  }
  return pb2(options);
}

std::unique_ptr<TrialScheduler> make_pbt_replay(const Json& json) {
  PbtReplayOptions options;
  core::OptionReader reader("pbt_replay", json);
  std::string policy_file;
  reader.read("policy", options.policy);
  reader.read("policy_file", policy_file);
  reader.finish();
  options.policy_file = policy_file;
  return pbt_replay(options);
}

}  // namespace

void register_builtin_schedulers() {
  register_scheduler("fifo", make_fifo, "runs every trial to its own end");
  register_scheduler("asha", make_asha,
                     "stops, or does not promote, what lags behind at milestones: asynchronous "
                     "successive halving");
  register_scheduler("async_hyperband", make_async_hyperband,
                     "asha as Ray Tune names it: asynchronous HyperBand with several brackets");
  register_scheduler("hyperband", make_hyperband,
                     "compares whole rungs, in brackets of more trials and fewer");
  register_scheduler("successive_halving", make_successive_halving,
                     "compares whole rungs, in brackets that are all alike");
  register_scheduler(
      "bohb", make_bohb,
      "hyperband at a pace at which a searcher that models results knows whole rungs");
  register_scheduler("hb_bohb", make_bohb, "bohb, as Ray Tune names it");
  register_scheduler("pasha", make_pasha,
                     "asha that trains longer only while the ranking is not settled");
  register_scheduler("resource_changing", make_resource_changing,
                     "around another: gives trials more resources as others end");
  register_scheduler("median_stopping", make_median_stopping,
                     "stops what is worse than the median of the others' running averages");
  register_scheduler("pb2", make_pb2, "population based training that explores by a model");
  register_scheduler(
      "pbt", make_pbt,
      "population based training: bad members take over from good ones, and explore");
  register_scheduler("pbt_replay", make_pbt_replay,
                     "trains one trial by a schedule that pbt found");
}

}  // namespace tune
