#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <tune/config.hpp>
#include <tune/scheduler.hpp>

namespace tune {

struct Pb2Options {
  std::string time_attr = "time_total_s";  ///< Measures progress; must grow.
  std::string metric = {};                 ///< Default: the experiment's.
  std::optional<Mode> mode = {};           ///< Required with a metric of its own.
  double perturbation_interval = 60;       ///< Between two looks at a member; above 0.
  /// Low and high of each number that is explored, by name or path ("optimizer/lr").
  std::map<std::string, std::array<double, 2>> hyperparam_bounds = {};
  double quantile_fraction = 0.25;  ///< From 0 (nobody takes over) to 0.5.
  bool log_config = true;           ///< Write the policy log: pbt_global.txt and its like.
  bool require_attrs = true;        ///< As in PbtOptions: without effect.
  bool synch = false;               ///< All members wait for each other.
  /// Gets the configuration that was chosen, and returns what the clone gets. The same for equal
  /// configurations.
  std::function<Config(const Config&)> custom_explore_fn = {};
};

/// Makes the scheduler of population-based bandits: pbt() that explores by a model, so that small
/// populations do well.
///
/// Parker-Holder et al., "Provably Efficient Online Hyperparameter Optimization with
/// Population-Based Bandits", NeurIPS 2020, algorithm 1 and section 4. Who takes over from whom,
/// when, and the policy log are as in pbt(). The new values of the bounded parameters maximise the
/// upper confidence bound of a Gaussian process over (parameters, time) that predicts how much the
/// score improves in an interval; its kernel is squared exponential in the parameters times
/// (1 - epsilon)^(|t - t'| / 2) in time, counted in intervals. The uncertainty takes into account
/// what the other members are trying now. All other parameters are the donor's.
///
/// Departures: the length, epsilon and the noise are taken from a small grid by marginal
/// likelihood; at most the newest 250 observations are used; the first interval of a member is no
/// observation, and neither is one with a score that is not finite. With fewer than two
/// observations values are drawn within their bounds. A value that is an integer at the donor stays
/// one.
///
/// An exchange is cubic in the observations, some 0.1 s at most; all else O(log n) a result.
/// @throws std::invalid_argument naming an option out of range.
[[nodiscard]] std::unique_ptr<TrialScheduler> pb2(const Pb2Options& options);

}  // namespace tune
