#include <tune/schedulers/asha.hpp>

#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "asha_plan.hpp"
#include "core/number_text.hpp"
#include "fidelity.hpp"
#include "rung.hpp"

namespace tune {
namespace {

using schedulers::AshaPlan;
using schedulers::Rung;
using schedulers::RungStanding;

/// The stopping type.
class AshaScheduler final : public TrialScheduler {
 public:
  explicit AshaScheduler(AshaPlan plan) : plan_(std::move(plan)), options_(plan_.options()) {}

  void on_trial_added(SchedulerContext& context, const Trial& trial) override {
    Progress& progress = progress_of(context, trial.id());
    // One that ended and goes on after all was judged at these before.
    const std::optional<Result>& last = trial.last_result();
    const double time = last ? last->number(options_.time_attr).value_or(0) : 0;
    progress.next_milestone = plan_.milestone_after(time, progress.next_milestone);
    context.no_decision_before(trial.id(), next_decision(progress));
  }

  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override {
    const std::optional<double> time = result.number(options_.time_attr);
    if (!time) return Decision::proceed;
    Progress& progress = progress_of(context, trial.id());
    const std::optional<RungStanding> standing =
        enter_rungs(context, progress, *time, result.target());
    if (*time >= options_.max_t && options_.stop_last_trials) {
      context.explain(trial.id(), plan_.explain_end(*time));
      return Decision::stop;
    }
    if (!standing) return Decision::proceed;
    if (!standing->goes_on) {
      context.explain(trial.id(), standing->describe());
      return Decision::stop;
    }
    context.no_decision_before(trial.id(), next_decision(progress));
    return Decision::proceed;
  }

  void on_trial_completed(SchedulerContext&, const Trial& trial, const Result&) override {
    progress_.erase(trial.id());
  }

  void on_trial_failed(SchedulerContext&, const Trial& trial) override {
    progress_.erase(trial.id());
  }

  [[nodiscard]] std::string time_attr() const override { return options_.time_attr; }

  [[nodiscard]] std::optional<Objective> objective() const override {
    return schedulers::objective_of(options_.metric, options_.mode);
  }

  [[nodiscard]] Json save() const override {
    Json brackets = Json::array();
    for (const Bracket& bracket : brackets_) {
      Json rungs = Json::array();
      for (const Rung& rung : bracket) rungs.push_back(rung.save());
      brackets.push_back(std::move(rungs));
    }
    const std::map<TrialId, Progress> in_order(progress_.begin(), progress_.end());
    Json trials = Json::array();
    for (const auto& [id, progress] : in_order) {
      trials.push_back({id.value(), progress.bracket, progress.next_milestone});
    }
    const Json mode = mode_ ? Json(to_string(*mode_)) : Json();
    return {{"mode", mode}, {"brackets", brackets}, {"trials", trials}};
  }

  void restore(const Json& state) override {
    progress_.clear();
    brackets_.clear();
    mode_.reset();
    if (!state.at("mode").is_null()) {
      make_brackets(state.at("mode") == "min" ? Mode::min : Mode::max);
      restore_rungs(state.at("brackets"));
    }
    for (const Json& trial : state.at("trials")) {
      const Progress progress{.bracket = trial.at(1).get<std::size_t>(),
                              .next_milestone = trial.at(2).get<std::size_t>()};
      if (progress.bracket >= plan_.sizes().size() || progress.next_milestone < progress.bracket) {
        plan_.refuse_saved_trial(trial);
      }
      progress_[TrialId{trial.at(0).get<std::uint64_t>()}] = progress;
    }
  }

  [[nodiscard]] Json options() const override { return plan_.options_json(); }

  [[nodiscard]] std::string describe() const override {
    std::string text = "asha up to " + core::number_text(options_.max_t);
    for (std::size_t s = 0; s < brackets_.size(); ++s) {
      if (brackets_.size() > 1) text += "; bracket " + std::to_string(s);
      for (const Rung& rung : brackets_[s]) {
        text += "; rung " + rung.describe(options_.reduction_factor);
      }
    }
    return text;
  }

 private:
  using Bracket = std::vector<Rung>;  // rung i of bracket s has milestone i + s

  struct Progress {
    std::size_t bracket = 0;
    std::size_t next_milestone = 0;  // the first one not reached; an index into milestones_
  };

  Progress& progress_of(const SchedulerContext& context, TrialId id) {
    const auto [place, is_new] = progress_.try_emplace(id);
    if (is_new) {
      place->second.bracket = draw_bracket(context, id);
      place->second.next_milestone = place->second.bracket;
    }
    return place->second;
  }

  [[nodiscard]] std::size_t draw_bracket(const SchedulerContext& context, TrialId id) const {
    const std::vector<double>& sizes = plan_.sizes();
    if (sizes.size() == 1) return 0;
    double total = 0;
    for (const double size : sizes) total += size;
    double rest = context.random(id).uniform() * total;
    std::size_t bracket = 0;
    while (bracket + 1 < sizes.size() && rest >= sizes[bracket]) rest -= sizes[bracket++];
    return bracket;
  }

  // Beyond max_t nothing more is decided where trials may go on.
  [[nodiscard]] double next_decision(const Progress& progress) const {
    const bool is_last = progress.next_milestone >= plan_.milestones().size();
    if (is_last && !options_.stop_last_trials) return std::numeric_limits<double>::infinity();
    return plan_.decision_time(progress.next_milestone);
  }

  // Enters each rung that was reached since the last result; how it stands in the highest.
  std::optional<RungStanding> enter_rungs(const SchedulerContext& context, Progress& progress,
                                          double time, double value) {
    if (brackets_.empty()) make_brackets(options_.mode.value_or(context.mode()));
    std::optional<RungStanding> standing;
    const std::vector<double>& milestones = plan_.milestones();
    while (progress.next_milestone < milestones.size() &&
           time >= milestones[progress.next_milestone]) {
      Rung& rung = brackets_[progress.bracket][progress.next_milestone - progress.bracket];
      standing = rung.enter(value, options_.reduction_factor);
      ++progress.next_milestone;
    }
    return standing;
  }

  void make_brackets(Mode mode) {
    mode_ = mode;
    const std::vector<double>& milestones = plan_.milestones();
    for (std::size_t s = 0; s < plan_.sizes().size(); ++s) {
      Bracket& bracket = brackets_.emplace_back();
      for (std::size_t i = s; i < milestones.size(); ++i) {
        bracket.emplace_back(milestones[i], mode);
      }
    }
  }

  void restore_rungs(const Json& brackets) {
    plan_.check_saved_count("the saved state", brackets.size(), brackets_.size(), "brackets");
    for (std::size_t s = 0; s < brackets_.size(); ++s) {
      plan_.check_saved_count("bracket " + std::to_string(s) + " of the saved state",
                              brackets[s].size(), brackets_[s].size(), "rungs");
      for (std::size_t i = 0; i < brackets_[s].size(); ++i) {
        brackets_[s][i].restore(brackets[s][i]);
      }
    }
  }

  AshaPlan plan_;
  AshaOptions options_;
  std::optional<Mode> mode_;                        // known from the first result on
  std::vector<Bracket> brackets_;                   // made with the mode
  std::unordered_map<TrialId, Progress> progress_;  // of live trials
};

std::unique_ptr<TrialScheduler> asha_of(AshaPlan plan) {
  if (plan.options().type == AshaType::promotion)
    return schedulers::asha_promotion(std::move(plan));
  return std::make_unique<AshaScheduler>(std::move(plan));
}

}  // namespace

std::string_view to_string(AshaType type) {
  return type == AshaType::promotion ? "promotion" : "stopping";
}

AshaType asha_type_from_string(std::string_view text) {
  if (text == "stopping") return AshaType::stopping;
  if (text == "promotion") return AshaType::promotion;
  throw std::invalid_argument("type is \"" + std::string(text) +
                              "\", want \"stopping\" or \"promotion\"");
}

std::unique_ptr<TrialScheduler> asha(const AshaOptions& options) {
  return asha_of(AshaPlan("asha", options));
}

std::unique_ptr<TrialScheduler> async_hyperband(const AshaOptions& options) {
  return asha_of(AshaPlan("async_hyperband", options));
}

}  // namespace tune
