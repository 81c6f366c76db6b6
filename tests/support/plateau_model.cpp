#include "support/plateau_model.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <variant>

namespace tune::test {
namespace {

double deviation(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  return std::sqrt(std::transform_reduce(values.begin(), values.end(), 0.0, std::plus<>(),
                                         [=](double v) { return (v - mean) * (v - mean); }) /
                   n);
}

/// Is `deviation` below `bound`? Not finite: no.
Certainty is_below(double deviation, double bound) {
  if (std::abs(deviation - bound) < 1e-9) return Certainty::maybe;
  return deviation < bound ? Certainty::yes : Certainty::no;
}

Certainty either(Certainty a, Certainty b) { return std::max(a, b); }

}  // namespace

PlateauModel::PlateauModel(const StopCriteria& stop, const std::optional<Objective>& objective)
    : stop_(stop), objective_(objective) {}

PlateauModel::Verdict PlateauModel::judge(TrialId id, const Result& result) {
  results_[id].push_back(result);
  Verdict verdict;
  const auto& rules = stop_.rules();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (const auto* trial = std::get_if<PlateauOptions>(&rules[i])) {
      const bool has_value =
          result.number(trial->metric.empty() ? objective_->metric : trial->metric).has_value();
      if (has_value) verdict.stop_trial = either(verdict.stop_trial, judge_trial(*trial, id));
    } else if (const auto* all = std::get_if<ExperimentPlateauOptions>(&rules[i])) {
      verdict.stop_experiment =
          either(verdict.stop_experiment, judge_experiment(*all, rows_[i], result));
    }
  }
  return verdict;
}

std::vector<double> PlateauModel::values(TrialId id, const std::string& metric) const {
  std::vector<double> values;
  for (const Result& result : results_.at(id)) {
    const std::optional<double> value = result.number(metric.empty() ? objective_->metric : metric);
    if (value) values.push_back(*value);
  }
  return values;
}

Certainty PlateauModel::judge_trial(const PlateauOptions& options, TrialId id) const {
  const std::vector<double> all = values(id, options.metric);
  const auto count = static_cast<std::int64_t>(all.size());
  if (count < options.grace_period || count < options.num_results) return Certainty::no;
  return is_below(deviation({all.end() - options.num_results, all.end()}), options.std);
}

Certainty PlateauModel::judge_experiment(const ExperimentPlateauOptions& options, Row& row,
                                         const Result& result) const {
  std::vector<double> best;  // one a trial
  for (const auto& [id, results] : results_) {
    std::vector<double> finite = values(id, options.metric);
    std::erase_if(finite, [](double value) { return !std::isfinite(value); });
    if (finite.empty()) continue;
    const auto [least, most] = std::minmax_element(finite.begin(), finite.end());
    best.push_back(objective_ && objective_->mode == Mode::max ? -*most : *least);
  }
  Certainty settled = Certainty::no;
  if (static_cast<std::int64_t>(best.size()) >= options.top) {
    std::sort(best.begin(), best.end());
    best.resize(static_cast<std::size_t>(options.top));
    settled = is_below(deviation(best), options.std);
  }
  if (is_lost_) return Certainty::maybe;
  const std::optional<double> value =
      result.number(options.metric.empty() ? objective_->metric : options.metric);
  const bool has_value = value && std::isfinite(*value);
  row.of_all = settled == Certainty::no ? 0 : row.of_all + 1;
  if (has_value) row.with_metric = settled == Certainty::no ? 0 : row.with_metric + 1;
  const bool with_metric = has_value && row.with_metric > options.patience;
  const bool of_all = row.of_all > options.patience;
  if (!with_metric && !of_all) return Certainty::no;
  return with_metric && of_all && settled == Certainty::yes ? Certainty::yes : Certainty::maybe;
}

}  // namespace tune::test
