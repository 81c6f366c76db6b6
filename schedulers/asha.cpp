#include <tune/schedulers/asha.hpp>

#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/number_text.hpp"
#include "rung.hpp"

namespace tune {
namespace {

using core::number_text;
using schedulers::Rung;
using schedulers::RungStanding;

[[noreturn]] void refuse_asha(const std::string& what) {
  throw std::invalid_argument("asha: " + what);
}

void check_asha_options(const AshaOptions& options) {
  if (options.time_attr.empty()) refuse_asha("time_attr must name a field, is empty");
  if (!options.metric.empty() && !options.mode) {
    refuse_asha("metric is " + options.metric + ", so mode must be min or max, is not set");
  }
  if (!(options.grace_period > 0) || !std::isfinite(options.grace_period)) {
    refuse_asha("grace_period must be above 0, is " + number_text(options.grace_period));
  }
  if (!(options.max_t >= options.grace_period) || !std::isfinite(options.max_t)) {
    refuse_asha("max_t must be at least grace_period, which is " +
                number_text(options.grace_period) + ", is " + number_text(options.max_t));
  }
  if (!(options.reduction_factor > 1) || !std::isfinite(options.reduction_factor)) {
    refuse_asha("reduction_factor must be above 1, is " + number_text(options.reduction_factor));
  }
}

// grace_period * reduction_factor^k up to and including max_t.
std::vector<double> asha_powers(const AshaOptions& options) {
  constexpr std::size_t most = 10'000;
  std::vector<double> powers;
  for (double power = options.grace_period; power <= options.max_t;
       power *= options.reduction_factor) {
    if (powers.size() == most) {
      refuse_asha("reduction_factor is " + number_text(options.reduction_factor) +
                  ", which makes more than " + std::to_string(most) + " milestones up to max_t " +
                  number_text(options.max_t));
    }
    powers.push_back(power);
  }
  return powers;
}

// The sizes of HyperBand's brackets (Li et al., "Hyperband", JMLR 2018, algorithm 1), the first
// `wanted` of `all`, the one with the most trials and the earliest milestone first.
std::vector<double> bracket_sizes(std::size_t wanted, std::size_t all, double reduction_factor) {
  double power = 1;
  std::vector<double> sizes(all);
  for (std::size_t rungs = 1; rungs <= all; ++rungs) {
    // One division, so that a whole quotient stays whole under ceil.
    sizes[all - rungs] = std::ceil(static_cast<double>(all) * power / static_cast<double>(rungs));
    power *= reduction_factor;
  }
  sizes.resize(wanted);
  return sizes;
}

class AshaScheduler final : public TrialScheduler {
 public:
  explicit AshaScheduler(AshaOptions options) : options_(std::move(options)) {
    check_asha_options(options_);
    milestones_ = asha_powers(options_);
    const std::size_t possible = milestones_.size();
    if (options_.brackets < 1 || options_.brackets > static_cast<std::int64_t>(possible)) {
      refuse_asha("brackets must be from 1 to " + std::to_string(possible) +
                  " (as many as have their first milestone by max_t), is " +
                  std::to_string(options_.brackets));
    }
    sizes_ = bracket_sizes(static_cast<std::size_t>(options_.brackets), possible,
                           options_.reduction_factor);
    if (milestones_.back() == options_.max_t) milestones_.pop_back();
  }

  void on_trial_added(SchedulerContext& context, const Trial& trial) override {
    Progress& progress = progress_of(context, trial.id());
    // One that ended and goes on after all was judged at these before.
    const std::optional<Result>& last = trial.last_result();
    const double time = last ? last->number(options_.time_attr).value_or(0) : 0;
    while (progress.next_milestone < milestones_.size() &&
           time >= milestones_[progress.next_milestone]) {
      ++progress.next_milestone;
    }
    context.no_decision_before(trial.id(), next_decision(progress));
  }

  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override {
    const std::optional<double> time = result.number(options_.time_attr);
    if (!time) return Decision::proceed;
    Progress& progress = progress_of(context, trial.id());
    const std::optional<RungStanding> standing =
        enter_rungs(context, progress, *time, result.target());
    if (*time >= options_.max_t) {
      context.explain(trial.id(), "reached max_t: " + options_.time_attr + " " +
                                      number_text(*time) + " of " + number_text(options_.max_t));
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
    if (!options_.mode) return std::nullopt;
    return Objective{.metric = options_.metric, .mode = *options_.mode};
  }

  [[nodiscard]] Json save() const override {
    Json brackets = Json::array();
    for (const Bracket& bracket : brackets_) {
      Json rungs = Json::array();
      for (const Rung& rung : bracket) rungs.push_back(rung.save());
      brackets.push_back(std::move(rungs));
    }
    Json trials = Json::array();
    for (const auto& [id, progress] : progress_) {
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
      if (progress.bracket >= sizes_.size() || progress.next_milestone < progress.bracket) {
        refuse_asha("the saved state has an impossible trial: " + trial.dump());
      }
      progress_[TrialId{trial.at(0).get<std::uint64_t>()}] = progress;
    }
  }

  [[nodiscard]] Json options() const override {
    Json json = {{"name", "asha"},
                 {"time_attr", options_.time_attr},
                 {"max_t", options_.max_t},
                 {"grace_period", options_.grace_period},
                 {"reduction_factor", options_.reduction_factor},
                 {"brackets", options_.brackets}};
    if (!options_.metric.empty()) json["metric"] = options_.metric;
    if (options_.mode) json["mode"] = to_string(*options_.mode);
    return json;
  }

  [[nodiscard]] std::string describe() const override {
    std::string text = "asha up to " + number_text(options_.max_t);
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
    if (sizes_.size() == 1) return 0;
    double total = 0;
    for (const double size : sizes_) total += size;
    double rest = context.random(id).uniform() * total;
    std::size_t bracket = 0;
    while (bracket + 1 < sizes_.size() && rest >= sizes_[bracket]) rest -= sizes_[bracket++];
    return bracket;
  }

  [[nodiscard]] double next_decision(const Progress& progress) const {
    return progress.next_milestone < milestones_.size() ? milestones_[progress.next_milestone]
                                                        : options_.max_t;
  }

  // Enters each rung that was reached since the last result; how it stands in the highest.
  std::optional<RungStanding> enter_rungs(const SchedulerContext& context, Progress& progress,
                                          double time, double value) {
    if (brackets_.empty()) make_brackets(options_.mode.value_or(context.mode()));
    std::optional<RungStanding> standing;
    while (progress.next_milestone < milestones_.size() &&
           time >= milestones_[progress.next_milestone]) {
      Rung& rung = brackets_[progress.bracket][progress.next_milestone - progress.bracket];
      standing = rung.enter(value, options_.reduction_factor);
      ++progress.next_milestone;
    }
    return standing;
  }

  void make_brackets(Mode mode) {
    mode_ = mode;
    for (std::size_t s = 0; s < sizes_.size(); ++s) {
      Bracket& bracket = brackets_.emplace_back();
      for (std::size_t i = s; i < milestones_.size(); ++i) {
        bracket.emplace_back(milestones_[i], mode);
      }
    }
  }

  void restore_rungs(const Json& brackets) {
    if (brackets.size() != brackets_.size()) {
      refuse_asha("the saved state has " + std::to_string(brackets.size()) +
                  " brackets, the options make " + std::to_string(brackets_.size()));
    }
    for (std::size_t s = 0; s < brackets_.size(); ++s) {
      if (brackets[s].size() != brackets_[s].size()) {
        refuse_asha("bracket " + std::to_string(s) + " of the saved state has " +
                    std::to_string(brackets[s].size()) + " rungs, the options make " +
                    std::to_string(brackets_[s].size()));
      }
      for (std::size_t i = 0; i < brackets_[s].size(); ++i) {
        brackets_[s][i].restore(brackets[s][i]);
      }
    }
  }

  AshaOptions options_;
  std::vector<double> milestones_;        // of bracket 0: all there are
  std::vector<double> sizes_;             // HyperBand's, of each bracket
  std::optional<Mode> mode_;              // known from the first result on
  std::vector<Bracket> brackets_;         // made with the mode
  std::map<TrialId, Progress> progress_;  // of live trials
};

}  // namespace

std::unique_ptr<TrialScheduler> asha(const AshaOptions& options) {
  return std::make_unique<AshaScheduler>(options);
}

}  // namespace tune
