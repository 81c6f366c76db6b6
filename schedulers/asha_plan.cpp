#include "asha_plan.hpp"

#include <utility>

#include "core/number_text.hpp"
#include "fidelity.hpp"

namespace tune::schedulers {

AshaPlan::AshaPlan(std::string name, AshaOptions options)
    : name_(std::move(name)), options_(std::move(options)) {
  const FidelityCheck check(name_);
  check.objective(options_.time_attr, options_.metric, options_.mode);
  check.range(options_.grace_period, options_.max_t);
  check.reduction_factor(options_.reduction_factor);
  milestones_ = check.powers(options_.grace_period, options_.max_t, options_.reduction_factor);
  const std::size_t possible = milestones_.size();
  if (options_.brackets < 1 || options_.brackets > static_cast<std::int64_t>(possible)) {
    check.refuse("brackets must be from 1 to " + std::to_string(possible) +
                 " (as many as have their first milestone by max_t), is " +
                 std::to_string(options_.brackets));
  }
  sizes_ = bracket_sizes(static_cast<std::size_t>(options_.brackets), possible,
                         options_.reduction_factor);
  if (milestones_.back() == options_.max_t) milestones_.pop_back();
}

double AshaPlan::decision_time(std::size_t next_milestone) const {
  return next_milestone < milestones_.size() ? milestones_[next_milestone] : options_.max_t;
}

std::size_t AshaPlan::milestone_after(double time, std::size_t from) const {
  while (from < milestones_.size() && time >= milestones_[from]) ++from;
  return from;
}

std::string AshaPlan::explain_end(double time) const {
  return "reached max_t: " + options_.time_attr + " " + core::number_text(time) + " of " +
         core::number_text(options_.max_t);
}

Json AshaPlan::options_json() const {
  Json json = {{"name", name_},
               {"time_attr", options_.time_attr},
               {"max_t", options_.max_t},
               {"grace_period", options_.grace_period},
               {"reduction_factor", options_.reduction_factor},
               {"brackets", options_.brackets},
               {"type", to_string(options_.type)},
               {"stop_last_trials", options_.stop_last_trials}};
  if (!options_.metric.empty()) json["metric"] = options_.metric;
  if (options_.mode) json["mode"] = to_string(*options_.mode);
  return json;
}

void AshaPlan::check_saved_count(const std::string& where, std::size_t saved, std::size_t made,
                                 const std::string& what) const {
  if (saved == made) return;
  FidelityCheck(name_).refuse(where + " has " + std::to_string(saved) + " " + what +
                              ", the options make " + std::to_string(made));
}

void AshaPlan::refuse_saved_trial(const Json& trial) const {
  FidelityCheck(name_).refuse("the saved state has an impossible trial: " + trial.dump());
}

}  // namespace tune::schedulers
