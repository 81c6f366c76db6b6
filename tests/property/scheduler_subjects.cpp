#include "scheduler_subjects.hpp"

#include <tune/schedulers/builtin.hpp>

namespace tune::test {

std::string describe(const Subject& subject) { return subject.name + ' ' + subject.options.dump(); }

std::vector<Subject> subjects() {
  register_builtin_schedulers();
  const Json asha = {{"name", "asha"}, {"max_t", 9}, {"reduction_factor", 3}};
  const Json pasha = {{"name", "pasha"}, {"max_t", 9}, {"reduction_factor", 2}};
  const Json promoting = {
      {"name", "asha"}, {"type", "promotion"}, {"max_t", 9}, {"reduction_factor", 3}};
  const Json median = {{"time_attr", "training_iteration"},
                       {"grace_period", 1},
                       {"min_samples_required", 1},
                       {"min_time_slice", 2}};
  const auto soft = [&median] {
    Json options = median;
    options["hard_stop"] = false;
    return options;
  };
  const auto population = [](bool synch) {
    return Json{{"time_attr", "training_iteration"},
                {"perturbation_interval", 2},
                {"quantile_fraction", 0.5},
                {"hyperparam_mutations", {{"x", {{"kind", "randint"}, {"low", 0}, {"high", 12}}}}},
                {"synch", synch}};
  };
  const auto modelled = [](bool synch) {
    return Json{{"time_attr", "training_iteration"},
                {"perturbation_interval", 3},
                {"quantile_fraction", 0.5},
                {"hyperparam_bounds", {{"x", {0, 12}}}},
                {"synch", synch}};
  };
  return {
      {"fifo"},
      {"asha", {{"max_t", 9}, {"reduction_factor", 3}}, RungRule::stops},
      {"asha", {{"max_t", 8}, {"reduction_factor", 2}, {"brackets", 2}}},
      {"asha", {{"type", "promotion"}, {"max_t", 9}, {"reduction_factor", 3}}, RungRule::promotes},
      {"asha", {{"type", "promotion"}, {"max_t", 8}, {"reduction_factor", 2}, {"brackets", 3}}},
      {"async_hyperband", {{"max_t", 9}, {"reduction_factor", 3}, {"brackets", 2}}},
      {"hyperband", {{"max_t", 9}, {"reduction_factor", 3}}},
      {"hyperband", {{"max_t", 7}, {"reduction_factor", 2}}},
      {"bohb", {{"max_t", 9}, {"reduction_factor", 3}}},
      {"successive_halving", {{"max_t", 8}, {"reduction_factor", 2}, {"n", 6}}},
      {"median_stopping", median},
      {"median_stopping", soft()},
      {"pbt", population(false)},
      {"pbt", population(true)},
      {"pb2", modelled(false)},
      {"pb2", modelled(true)},
      {"pasha", {{"max_t", 9}, {"reduction_factor", 2}}, RungRule::promotes},
      {"pasha",
       {{"max_t", 7}, {"reduction_factor", 1.5}, {"time_attr", "epoch"}, {"ranked_trials", 3}},
       RungRule::promotes},
      {"pasha",
       {{"max_t", 12}, {"reduction_factor", 2}, {"ranking_criterion", "soft_ranking_std"}},
       RungRule::promotes},
      {"resource_changing"},
      {"resource_changing", {{"base", asha}}, RungRule::stops},
      {"resource_changing", {{"base", pasha}, {"increase_by_times", 2}}, RungRule::promotes},
      {"resource_changing", {{"base", promoting}}, RungRule::promotes},
  };
}

}  // namespace tune::test
