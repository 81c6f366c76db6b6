#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <tune/config.hpp>
#include <tune/scheduler.hpp>
#include <tune/search_space.hpp>

namespace tune {

struct PbtOptions {
  std::string time_attr = "time_total_s";  ///< Measures progress; must grow.
  std::string metric = {};                 ///< Default: the experiment's.
  std::optional<Mode> mode = {};           ///< Required with a metric of its own.
  double perturbation_interval = 60;       ///< Between two looks at a member; above 0.
  double burn_in_period = 0;               ///< No exchange before; at least 0.
  /// What is explored and over which domain, by name or path ("optimizer/lr"): all kinds but
  /// branch, sample_from and constants. A parameter that a configuration lacks is left alone.
  SearchSpace hyperparam_mutations = {};
  double quantile_fraction = 0.25;     ///< From 0 (nobody takes over) to 0.5.
  double resample_probability = 0.25;  ///< Of a draw from the domain instead; 0 to 1.
  std::array<double, 2> perturbation_factors = {1.2, 0.8};  ///< One or the other; above 0.
  /// Gets what the mutations made of a donor's configuration, and returns what the clone gets. The
  /// same for equal configurations.
  std::function<Config(const Config&)> custom_explore_fn = {};
  bool log_config = true;  ///< Write the policy log: pbt_global.txt and its like.
  /// As Ray Tune has it. Without effect: a result that lacks `time_attr` or the metric is never
  /// told to a scheduler, and whether it is an error is up to Experiment::strict_metric.
  bool require_attrs = true;
  bool synch = false;  ///< All members wait for each other at the end of an interval.
};

/// Makes the scheduler of population based training.
///
/// Jaderberg et al., "Population Based Training of Neural Networks", 2017: algorithm 1 with
/// truncation selection as exploit and perturb or resample as explore (section 4). The population
/// is the live trials, so bound their number by Experiment::num_samples.
///
/// A member is looked at at its first result from `max(burn_in_period, perturbation_interval)` on,
/// and then at each further interval; its score is its value there. Of the n live members with a
/// score the bottom and the top `floor(n * quantile_fraction)` (at least one from two on) are the
/// quantiles, equal scores ranked by id. A member that finds itself in the bottom goes on from the
/// newest stored checkpoint of a random member of the top, under that one's configuration,
/// explored; its own counters go on, and it has no score until it reports again. A top member
/// without checkpoint, or whose score is not finite, is passed over; members that have ended are
/// none.
///
/// Explore: each parameter is drawn from its domain with `resample_probability`, else perturbed.
/// Numbers are multiplied by one of the factors (in the logarithm of a logarithmic domain an equal
/// step up or down), brought into their domain and to its grid; integers and multiples of q move
/// by at least one step where the bounds let them. An ordinal goes to a neighbour, at an end it
/// may stay; choices are drawn.
///
/// Asynchronous members give their slot away at the end of an interval if others wait, so that
/// more members than slots train side by side. With `synch` all pause there until each that can
/// has come, and exchange at once; intervals then are the same for all, and a member that ends or
/// that no node can hold is not waited for.
///
/// Departs from Ray Tune: a parameter missing in the configuration is not added; the end of an
/// interval does not drift with the results.
///
/// The policy log is in the journal, and in pbt_global.txt and pbt_policy_00003.txt
/// (docs/schedulers/pbt.md); pbt_replay() takes such a file. O(log n) a result.
/// @throws std::invalid_argument naming an option out of range.
[[nodiscard]] std::unique_ptr<TrialScheduler> pbt(const PbtOptions& options);

}  // namespace tune
