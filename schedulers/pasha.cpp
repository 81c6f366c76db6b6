#include <tune/schedulers/pasha.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "core/number_text.hpp"
#include "promotion_rung.hpp"
#include "saved_number.hpp"
#include "schedulers/soft_ranking.hpp"

namespace tune {
namespace {

using core::number_text;
using schedulers::LearningCurve;
using schedulers::PromotionRung;
using schedulers::RungEntry;
using schedulers::SoftRanking;

constexpr std::array<std::string_view, 5> ranking_criteria = {
    "soft_ranking_auto", "soft_ranking", "soft_ranking_std", "soft_ranking_mean_dst",
    "soft_ranking_median_dst"};

[[noreturn]] void refuse_pasha(const std::string& what) {
  throw std::invalid_argument("pasha: " + what);
}

void check_pasha_rungs(const PashaOptions& options) {
  if (options.time_attr.empty()) refuse_pasha("time_attr must name a field, is empty");
  if (!options.metric.empty() && !options.mode) {
    refuse_pasha("metric is " + options.metric + ", so mode must be min or max, is not set");
  }
  if (!(options.grace_period > 0) || !std::isfinite(options.grace_period)) {
    refuse_pasha("grace_period must be above 0, is " + number_text(options.grace_period));
  }
  if (!(options.max_t >= options.grace_period) || !std::isfinite(options.max_t)) {
    refuse_pasha("max_t must be at least grace_period, which is " +
                 number_text(options.grace_period) + ", is " + number_text(options.max_t));
  }
  if (!(options.reduction_factor > 1) || !std::isfinite(options.reduction_factor)) {
    refuse_pasha("reduction_factor must be above 1, is " + number_text(options.reduction_factor));
  }
}

void check_pasha_ranking(const PashaOptions& options) {
  if (std::find(ranking_criteria.begin(), ranking_criteria.end(), options.ranking_criterion) ==
      ranking_criteria.end()) {
    std::string allowed;
    for (const std::string_view criterion : ranking_criteria) {
      allowed += (allowed.empty() ? "" : ", ") + std::string(criterion);
    }
    refuse_pasha("ranking_criterion must be one of " + allowed + ", is \"" +
                 options.ranking_criterion + '"');
  }
  if (!(options.epsilon >= 0) || !std::isfinite(options.epsilon)) {
    refuse_pasha("epsilon must be at least 0, is " + number_text(options.epsilon));
  }
  if (!(options.epsilon_scaling >= 0) || !std::isfinite(options.epsilon_scaling)) {
    refuse_pasha("epsilon_scaling must be at least 0, is " + number_text(options.epsilon_scaling));
  }
  if (!(options.percentile >= 0 && options.percentile <= 100)) {
    refuse_pasha("percentile must be from 0 to 100, is " + number_text(options.percentile));
  }
  if (options.ranked_trials < 2) {
    refuse_pasha("ranked_trials must be at least 2, is " + std::to_string(options.ranked_trials));
  }
}

// grace_period * reduction_factor^k below max_t, and max_t.
std::vector<double> pasha_milestones(const PashaOptions& options) {
  constexpr std::size_t most = 10'000;
  std::vector<double> milestones;
  for (double power = options.grace_period; power < options.max_t;
       power *= options.reduction_factor) {
    if (milestones.size() == most) {
      refuse_pasha("reduction_factor is " + number_text(options.reduction_factor) +
                   ", which makes more than " + std::to_string(most) + " milestones up to max_t " +
                   number_text(options.max_t));
    }
    milestones.push_back(power);
  }
  milestones.push_back(options.max_t);
  return milestones;
}

class PashaScheduler final : public TrialScheduler {
 public:
  explicit PashaScheduler(PashaOptions options) : options_(std::move(options)) {
    check_pasha_rungs(options_);
    check_pasha_ranking(options_);
    milestones_ = pasha_milestones(options_);
    top_ = std::min<std::size_t>(1, last());
  }

  void on_trial_added(SchedulerContext& context, const Trial& trial) override {
    Progress& progress = progress_of(trial.id());
    // One that ended and goes on after all was judged at these before.
    const std::optional<Result>& result = trial.last_result();
    const double time = result ? result->number(options_.time_attr).value_or(0) : 0;
    while (progress.next < last() && time >= milestones_[progress.next]) ++progress.next;
    progress.first = progress.next;
    context.no_decision_before(trial.id(), milestones_[progress.next]);
  }

  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override {
    const std::optional<double> time = result.number(options_.time_attr);
    if (!time) return Decision::proceed;
    if (rungs_.empty()) make_rungs(options_.mode.value_or(context.mode()));
    Progress& progress = progress_of(trial.id());
    const std::size_t before = progress.next;
    if (!is_fully_open()) progress.curve.emplace_back(*time, result.target());
    const std::string unstable = enter_rungs(trial.id(), progress, *time, result.target());
    if (*time >= options_.max_t) {
      context.explain(trial.id(), "reached max_t: " + options_.time_attr + " " +
                                      number_text(*time) + " of " + number_text(options_.max_t));
      return Decision::stop;
    }
    if (!unstable.empty()) context.explain(trial.id(), unstable);
    return progress.next == before ? Decision::proceed : pause_or_go_on(context, trial.id());
  }

  void on_trial_completed(SchedulerContext&, const Trial& trial, const Result&) override {
    forget(trial.id());
  }

  void on_trial_failed(SchedulerContext&, const Trial& trial) override { forget(trial.id()); }

  std::optional<TrialId> choose_trial_to_run(SchedulerContext& context) override {
    const std::optional<TrialId> pending = TrialScheduler::choose_trial_to_run(context);
    if (pending) return pending;
    const auto is_paused = [&context](TrialId id) { return can_be_promoted(context, id); };
    for (std::size_t rung = std::min(top_, rungs_.size()); rung-- > 0;) {
      const std::optional<RungEntry> found = rungs_[rung].promotable(is_paused);
      if (!found) continue;
      context.explain(found->trial, "promoted to " + number_text(milestones_[rung + 1]) + ": " +
                                        rungs_[rung].explain(*found));
      let_go_on(context, *found, rung);
      // Pending, it keeps its claim also where there is no room for it now.
      context.unpause(found->trial);
      return found->trial;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool needs_checkpoints() const override { return milestones_.size() > 1; }
  [[nodiscard]] std::string time_attr() const override { return options_.time_attr; }

  [[nodiscard]] std::optional<Objective> objective() const override {
    if (!options_.mode) return std::nullopt;
    return Objective{.metric = options_.metric, .mode = *options_.mode};
  }

  [[nodiscard]] Json save() const override {
    Json rungs = Json::array();
    for (const PromotionRung& rung : rungs_) rungs.push_back(rung.save());
    Json trials = Json::array();
    for (const auto& [id, progress] : progress_) {
      Json values = Json::array();
      for (const double value : progress.values) values.push_back(schedulers::saved_number(value));
      trials.push_back({id.value(), progress.first, progress.next, values,
                        schedulers::saved_curve(progress.curve)});
    }
    return {{"mode", mode_ ? Json(to_string(*mode_)) : Json()},
            {"top", top_},
            {"rungs", rungs},
            {"ranking", ranking_ ? ranking_->save() : Json()},
            {"trials", trials}};
  }

  void restore(const Json& state) override {
    progress_.clear();
    rungs_.clear();
    ranking_.reset();
    mode_.reset();
    top_ = state.at("top").get<std::size_t>();
    if (top_ > last()) refuse_pasha("the saved state has milestones that the options do not make");
    for (const Json& trial : state.at("trials")) restore_trial(trial);
    if (state.at("mode").is_null()) return;
    make_rungs(state.at("mode") == "min" ? Mode::min : Mode::max);
    const Json& rungs = state.at("rungs");
    if (rungs.size() != rungs_.size()) {
      refuse_pasha("the saved state has " + std::to_string(rungs.size()) +
                   " rungs, the options make " + std::to_string(rungs_.size()));
    }
    for (std::size_t i = 0; i < rungs_.size(); ++i) rungs_[i].restore(rungs[i]);
    ranking_->restore(state.at("ranking"));
  }

  [[nodiscard]] Json options() const override {
    Json json = {{"name", "pasha"},
                 {"time_attr", options_.time_attr},
                 {"max_t", options_.max_t},
                 {"grace_period", options_.grace_period},
                 {"reduction_factor", options_.reduction_factor},
                 {"ranking_criterion", options_.ranking_criterion},
                 {"epsilon", options_.epsilon},
                 {"epsilon_scaling", options_.epsilon_scaling},
                 {"percentile", options_.percentile},
                 {"ranked_trials", options_.ranked_trials}};
    if (!options_.metric.empty()) json["metric"] = options_.metric;
    if (options_.mode) json["mode"] = to_string(*options_.mode);
    return json;
  }

  [[nodiscard]] std::string describe() const override {
    std::string text =
        "pasha up to " + number_text(milestones_[top_]) + " of " + number_text(options_.max_t);
    if (ranking_) text += ", epsilon " + number_text(ranking_->epsilon());
    for (const PromotionRung& rung : rungs_) text += "; rung " + rung.describe();
    return text;
  }

 private:
  struct Progress {
    std::size_t first = 0;       // the first milestone of which `values` tells
    std::size_t next = 0;        // the first one not reached; an index into milestones_
    std::vector<double> values;  // those that it entered rungs with, from `first` on
    LearningCurve curve;         // kept until max_t is open
  };

  [[nodiscard]] std::size_t last() const { return milestones_.size() - 1; }
  // Nothing is left to open, so nothing is ranked any more.
  [[nodiscard]] bool is_fully_open() const { return top_ == last(); }

  Progress& progress_of(TrialId id) { return progress_[id]; }

  void make_rungs(Mode mode) {
    mode_ = mode;
    ranking_.emplace(options_, mode);
    for (std::size_t i = 0; i < last(); ++i) {
      rungs_.emplace_back(milestones_[i], options_.reduction_factor, mode);
    }
  }

  // Enters each rung that was reached since the last result. What opened a milestone, if one was.
  std::string enter_rungs(TrialId id, Progress& progress, double time, double value) {
    bool is_at_top = false;
    while (progress.next < last() && time >= milestones_[progress.next]) {
      rungs_[progress.next].enter({value, id}, /*waits=*/false);
      progress.values.push_back(value);
      is_at_top = is_at_top || progress.next == top_;
      ++progress.next;
    }
    std::string unstable;
    if (is_at_top && !is_fully_open()) {
      rank(id, progress);
      unstable = open_while_unstable();
    }
    return unstable;
  }

  // Into the ranking of the top two rungs, if it is known how it stood in both.
  void rank(TrialId id, const Progress& progress) {
    if (progress.first >= top_ || progress.next <= top_) return;
    ranking_->enter({.id = id,
                     .below = progress.values[top_ - 1 - progress.first],
                     .top = progress.values[top_ - progress.first],
                     .curve = progress.curve});
  }

  std::string open_while_unstable() {
    std::string text;
    for (std::string why; !is_fully_open() && !(why = ranking_->instability()).empty();) {
      text = "opens " + number_text(milestones_[top_ + 1]) + ": " + why;
      ++top_;
      ranking_->begin_anew();
      if (is_fully_open()) {
        for (auto& [id, progress] : progress_) progress.curve = {};
      } else {
        // Trials that jumped are there already.
        for (const auto& [id, progress] : progress_) rank(id, progress);
      }
    }
    return text;
  }

  // Of the rung that a trial has just entered.
  Decision pause_or_go_on(SchedulerContext& context, TrialId id) {
    const Progress& progress = progress_.at(id);
    const std::size_t rung = progress.next - 1;
    const RungEntry entry{progress.values.back(), id};
    rungs_[rung].wait(entry);
    if (would_be_chosen(context, id, rung)) {
      let_go_on(context, entry, rung);
      return Decision::proceed;
    }
    std::string text = rungs_[rung].explain(entry);
    if (rung >= top_) text += "; this rung is the top, for now";
    context.explain(id, text);
    return Decision::pause;
  }

  // Whether the slot would be given back to it at once.
  [[nodiscard]] bool would_be_chosen(const SchedulerContext& context, TrialId id,
                                     std::size_t rung) const {
    if (rung >= top_) return false;
    const auto is_ready = [&](TrialId other) {
      return other == id || can_be_promoted(context, other);
    };
    for (std::size_t higher = top_; --higher > rung;) {
      if (rungs_[higher].promotable(is_ready)) return false;
    }
    const std::optional<RungEntry> first = rungs_[rung].promotable(is_ready);
    return first && first->trial == id;
  }

  // False for one on its way to its pause, or whose retry has to wait: it will be asked for then.
  [[nodiscard]] static bool can_be_promoted(const SchedulerContext& context, TrialId id) {
    const Trial* trial = context.find(id);
    return trial != nullptr && trial->state() == TrialState::paused && !trial->waits_for_retry();
  }

  void let_go_on(SchedulerContext& context, const RungEntry& entry, std::size_t rung) {
    rungs_[rung].release(entry);
    context.no_decision_before(entry.trial, milestones_[rung + 1]);
  }

  void forget(TrialId id) {
    const auto found = progress_.find(id);
    if (found == progress_.end()) return;
    const Progress& progress = found->second;
    if (!progress.values.empty()) rungs_[progress.next - 1].release({progress.values.back(), id});
    progress_.erase(found);
  }

  void restore_trial(const Json& json) {
    Progress progress{.first = json.at(1).get<std::size_t>(),
                      .next = json.at(2).get<std::size_t>(),
                      .values = {},
                      .curve = schedulers::restored_curve(json.at(4))};
    for (const Json& value : json.at(3)) {
      progress.values.push_back(schedulers::restored_number(value));
    }
    if (progress.next > last() || progress.first + progress.values.size() != progress.next) {
      refuse_pasha("the saved state has an impossible trial: " + json.dump());
    }
    progress_[TrialId{json.at(0).get<std::uint64_t>()}] = std::move(progress);
  }

  PashaOptions options_;
  std::vector<double> milestones_;    // the last is max_t, which has no rung
  std::size_t top_;                   // the highest milestone that is open
  std::optional<Mode> mode_;          // known from the first result on
  std::vector<PromotionRung> rungs_;  // made with the mode
  std::optional<SoftRanking> ranking_;
  std::map<TrialId, Progress> progress_;  // of live trials
};

}  // namespace

std::unique_ptr<TrialScheduler> pasha(const PashaOptions& options) {
  return std::make_unique<PashaScheduler>(options);
}

}  // namespace tune
