#include <tune/stop.hpp>

#include <cmath>
#include <stdexcept>

#include "core/number_text.hpp"

namespace tune {
namespace {

using core::number_text;

[[noreturn]] void refuse_stop(const std::string& what) {
  throw std::invalid_argument("stop criterion " + what);
}

void check_std(const std::string& name, double std) {
  if (!(std > 0)) refuse_stop(name + ": std must be above 0, is " + number_text(std));
}

void check_at_least(const std::string& name, const std::string& option, std::int64_t value,
                    std::int64_t low) {
  if (value < low) {
    refuse_stop(name + ": " + option + " must be at least " + std::to_string(low) + ", is " +
                std::to_string(value));
  }
}

void check_rule(const StopCriteria::Bound& bound) {
  if (bound.field.empty()) refuse_stop("without a field: name a metric or automatic field");
  if (std::isnan(bound.bound)) refuse_stop(bound.field + ": the bound is nan, want a number");
}

void check_rule(const StopCriteria::Predicate& predicate) {
  if (!predicate.stop) refuse_stop("by function: the function is empty");
}

void check_rule(const PlateauOptions& options) {
  check_std("plateau", options.std);
  check_at_least("plateau", "num_results", options.num_results, 2);
  check_at_least("plateau", "grace_period", options.grace_period, 0);
}

void check_rule(const ExperimentPlateauOptions& options) {
  check_std("experiment_plateau", options.std);
  check_at_least("experiment_plateau", "top", options.top, 2);
  check_at_least("experiment_plateau", "patience", options.patience, 0);
}

Json rule_json(const StopCriteria::Bound& bound) {
  return {{"field", bound.field}, {bound.below ? "at_most" : "at_least", bound.bound}};
}

// A function has no definition to record: that there is one is all that can be compared.
Json rule_json(const StopCriteria::Predicate&) { return {{"function", true}}; }

Json rule_json(const PlateauOptions& options) {
  return {{"plateau",
           {{"metric", options.metric},
            {"std", options.std},
            {"num_results", options.num_results},
            {"grace_period", options.grace_period}}}};
}

Json rule_json(const ExperimentPlateauOptions& options) {
  return {{"experiment_plateau",
           {{"metric", options.metric},
            {"mode", options.mode ? Json(to_string(*options.mode)) : Json()},
            {"std", options.std},
            {"top", options.top},
            {"patience", options.patience}}}};
}

}  // namespace

StopCriteria::StopCriteria(std::initializer_list<std::pair<std::string, double>> bounds) {
  for (const auto& [field, bound] : bounds) {
    rules_.emplace_back(Bound{.field = field, .bound = bound});
    std::visit([](const auto& rule) { check_rule(rule); }, rules_.back());
  }
}

StopCriteria::StopCriteria(Rule rule) {
  std::visit([](const auto& given) { check_rule(given); }, rule);
  rules_.push_back(std::move(rule));
}

StopCriteria operator|(StopCriteria a, const StopCriteria& b) {
  a.rules_.insert(a.rules_.end(), b.rules_.begin(), b.rules_.end());
  return a;
}

Json StopCriteria::json() const {
  Json rules = Json::array();
  for (const Rule& rule : rules_) {
    rules.push_back(std::visit([](const auto& given) { return rule_json(given); }, rule));
  }
  return rules;
}

StopCriteria below(std::string field, double bound) {
  return StopCriteria(
      StopCriteria::Bound{.field = std::move(field), .bound = bound, .below = true});
}

StopCriteria stop_when(std::function<bool(const Trial&, const Result&)> stop) {
  return StopCriteria(StopCriteria::Predicate{std::move(stop)});
}

StopCriteria plateau(const PlateauOptions& options) { return StopCriteria(options); }

StopCriteria experiment_plateau(const ExperimentPlateauOptions& options) {
  return StopCriteria(options);
}

}  // namespace tune
