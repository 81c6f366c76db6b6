#include <tune/schedulers/hyperband.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <tune/schedulers/successive_halving.hpp>

#include "core/number_text.hpp"
#include "fidelity.hpp"
#include "synchronous_halving.hpp"

namespace tune {
namespace {

using core::number_text;
using schedulers::BracketShape;
using schedulers::FidelityCheck;
using schedulers::HalvingPlan;

std::size_t bracket_size_of(double size) {
  constexpr double most = 1e15;  // more than there will ever be, and safe to convert
  return static_cast<std::size_t>(std::min(size, most));
}

// What both kinds of options have in common.
template <class Options>
HalvingPlan common_plan(const std::string& name, const Options& options) {
  HalvingPlan plan{.name = name,
                   .time_attr = options.time_attr,
                   .metric = options.metric,
                   .mode = options.mode,
                   .max_t = options.max_t,
                   .reduction_factor = options.reduction_factor,
                   .stop_last_trials = options.stop_last_trials};
  plan.options = {{"name", name},
                  {"time_attr", options.time_attr},
                  {"max_t", options.max_t},
                  {"reduction_factor", options.reduction_factor},
                  {"stop_last_trials", options.stop_last_trials}};
  if (!options.metric.empty()) plan.options["metric"] = options.metric;
  if (options.mode) plan.options["mode"] = to_string(*options.mode);
  return plan;
}

// Algorithm 1 of the HyperBand paper, from s = s_max down.
std::vector<BracketShape> hyperband_shapes(const std::vector<double>& powers, double max_t,
                                           double reduction_factor) {
  const std::vector<double> sizes =
      schedulers::bracket_sizes(powers.size(), powers.size(), reduction_factor);
  std::vector<BracketShape> shapes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    BracketShape& shape = shapes.emplace_back();
    shape.size = bracket_size_of(sizes[i]);
    for (std::size_t k = powers.size() - i; k > 0; --k) {
      shape.milestones.push_back(max_t / powers[k - 1]);
    }
  }
  return shapes;
}

HalvingPlan hyperband_plan(const std::string& name, const HyperbandOptions& options) {
  const FidelityCheck check(name);
  check.objective(options.time_attr, options.metric, options.mode);
  if (!(options.max_t >= 1) || !std::isfinite(options.max_t)) {
    check.refuse("max_t must be at least 1, is " + number_text(options.max_t));
  }
  check.reduction_factor(options.reduction_factor);
  HalvingPlan plan = common_plan(name, options);
  plan.shapes = hyperband_shapes(check.powers(1, options.max_t, options.reduction_factor),
                                 options.max_t, options.reduction_factor);
  return plan;
}

std::vector<double> halving_milestones(const FidelityCheck& check,
                                       const SuccessiveHalvingOptions& options) {
  std::vector<double> milestones =
      check.powers(options.grace_period, options.max_t, options.reduction_factor);
  const auto possible = static_cast<std::int64_t>(milestones.size());
  if (options.bracket < 0 || options.bracket >= possible) {
    check.refuse("bracket must be from 0 to " + std::to_string(possible - 1) +
                 " (its first milestone is by max_t), is " + std::to_string(options.bracket));
  }
  milestones.erase(milestones.begin(), milestones.begin() + options.bracket);
  if (milestones.back() < options.max_t) milestones.push_back(options.max_t);
  return milestones;
}

HalvingPlan halving_plan(const SuccessiveHalvingOptions& options) {
  const FidelityCheck check("successive_halving");
  check.objective(options.time_attr, options.metric, options.mode);
  check.range(options.grace_period, options.max_t);
  check.reduction_factor(options.reduction_factor);
  if (options.n < 0) {
    check.refuse("n must be at least 1, or 0 for the default, is " + std::to_string(options.n));
  }
  HalvingPlan plan = common_plan("successive_halving", options);
  plan.options["n"] = options.n;
  plan.options["grace_period"] = options.grace_period;
  plan.options["bracket"] = options.bracket;
  BracketShape& shape = plan.shapes.emplace_back();
  shape.milestones = halving_milestones(check, options);
  double size = 1;
  for (std::size_t k = 1; k < shape.milestones.size(); ++k) size *= options.reduction_factor;
  shape.size =
      options.n > 0 ? static_cast<std::size_t>(options.n) : bracket_size_of(std::ceil(size));
  return plan;
}

}  // namespace

std::unique_ptr<TrialScheduler> hyperband(const HyperbandOptions& options) {
  return schedulers::synchronous_halving(hyperband_plan("hyperband", options));
}

std::unique_ptr<TrialScheduler> hyperband_for_bohb(const HyperbandOptions& options) {
  HalvingPlan plan = hyperband_plan("bohb", options);
  plan.waits_for_rung = true;
  return schedulers::synchronous_halving(std::move(plan));
}

std::unique_ptr<TrialScheduler> successive_halving(const SuccessiveHalvingOptions& options) {
  return schedulers::synchronous_halving(halving_plan(options));
}

}  // namespace tune
