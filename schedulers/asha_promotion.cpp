#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "asha_plan.hpp"
#include "core/number_text.hpp"
#include "fidelity.hpp"
#include "promotion_rung.hpp"

namespace tune::schedulers {
namespace {

class AshaPromotionScheduler final : public TrialScheduler {
 public:
  explicit AshaPromotionScheduler(AshaPlan plan)
      : plan_(std::move(plan)), options_(plan_.options()) {}

  void on_trial_added(SchedulerContext& context, const Trial& trial) override {
    if (brackets_.empty()) make_brackets(options_.mode.value_or(context.mode()));
    Progress progress{.bracket = turn_};
    ++begun_in_turn_;
    // One that ended and goes on after all was in these rungs before.
    const std::optional<Result>& last = trial.last_result();
    const double time = last ? last->number(options_.time_attr).value_or(0) : 0;
    progress.next_milestone = plan_.milestone_after(time, progress.bracket);
    progress_.insert_or_assign(trial.id(), progress);
    ++active_;
    context.no_decision_before(trial.id(), plan_.decision_time(progress.next_milestone));
  }

  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override {
    const std::optional<double> time = result.number(options_.time_attr);
    const auto found = progress_.find(trial.id());
    if (!time || found == progress_.end()) return Decision::proceed;
    Progress& progress = found->second;
    const bool is_at_end = *time >= options_.max_t;
    enter_rungs(progress, trial.id(), *time, result.target(), !is_at_end);
    if (is_at_end) return end(context, trial.id(), *time);
    if (!progress.is_waiting) return Decision::proceed;
    const PromotionRung& rung = rung_of(progress);
    context.explain(trial.id(), rung.explain({progress.value, trial.id()}) + "; pauses");
    return Decision::pause;
  }

  void on_trial_completed(SchedulerContext&, const Trial& trial, const Result&) override {
    forget(trial.id());
  }

  void on_trial_failed(SchedulerContext&, const Trial& trial) override { forget(trial.id()); }

  std::optional<TrialId> choose_trial_to_run(SchedulerContext& context) override {
    // It was decided on before: a new one, a retry, one that was promoted and had no node.
    if (!context.pending_trials().empty()) return *context.pending_trials().begin();
    if (brackets_.empty()) return std::nullopt;
    if (static_cast<double>(begun_in_turn_) >= plan_.sizes()[turn_]) {
      turn_ = (turn_ + 1) % brackets_.size();
      begun_in_turn_ = 0;
    }
    if (const auto promoted = promote_from(context, turn_)) return promoted;
    const NewTrials new_trials = context.new_trials();
    if (new_trials == NewTrials::possible || new_trials == NewTrials::no_room) return std::nullopt;
    for (std::size_t i = 1; i < brackets_.size(); ++i) {
      const std::size_t other = (turn_ + i) % brackets_.size();
      if (const auto promoted = promote_from(context, other)) return promoted;
    }
    if (active_ == 0) give_up(context);
    return std::nullopt;
  }

  [[nodiscard]] bool needs_checkpoints() const override { return true; }
  [[nodiscard]] std::string time_attr() const override { return options_.time_attr; }
  [[nodiscard]] std::optional<Objective> objective() const override {
    return objective_of(options_.metric, options_.mode);
  }
  [[nodiscard]] Json options() const override { return plan_.options_json(); }

  [[nodiscard]] Json save() const override {
    Json brackets = Json::array();
    for (const Bracket& bracket : brackets_) {
      Json rungs = Json::array();
      for (const PromotionRung& rung : bracket) rungs.push_back(rung.save());
      brackets.push_back(std::move(rungs));
    }
    Json trials = Json::array();
    for (const auto& [id, progress] : progress_) {
      trials.push_back({id.value(), progress.bracket, progress.next_milestone});
    }
    const Json mode = mode_ ? Json(to_string(*mode_)) : Json();
    return {{"mode", mode},
            {"brackets", brackets},
            {"trials", trials},
            {"turn", turn_},
            {"begun_in_turn", begun_in_turn_}};
  }

  void restore(const Json& state) override {
    progress_.clear();
    brackets_.clear();
    mode_.reset();
    active_ = 0;
    turn_ = state.at("turn").get<std::size_t>();
    begun_in_turn_ = state.at("begun_in_turn").get<std::uint64_t>();
    for (const Json& trial : state.at("trials")) restore_trial(trial);
    if (state.at("mode").is_null()) return;
    make_brackets(state.at("mode") == "min" ? Mode::min : Mode::max);
    restore_rungs(state.at("brackets"));
  }

  [[nodiscard]] std::string describe() const override {
    std::string text = "asha (promotion) up to " + core::number_text(options_.max_t);
    for (std::size_t s = 0; s < brackets_.size(); ++s) {
      if (brackets_.size() > 1) text += "; bracket " + std::to_string(s);
      for (const PromotionRung& rung : brackets_[s]) text += "; rung " + rung.describe();
    }
    return text;
  }

 private:
  using Bracket = std::vector<PromotionRung>;  // rung i of bracket s has milestone i + s

  struct Progress {
    std::size_t bracket = 0;
    std::size_t next_milestone = 0;  // the first one not reached
    bool is_waiting = false;         // in the rung of the milestone before
    double value = 0;                // there
  };

  // In all rungs that were reached since the last result; it waits in the highest.
  void enter_rungs(Progress& progress, TrialId id, double time, double value, bool may_wait) {
    const std::size_t next = plan_.milestone_after(time, progress.next_milestone);
    if (next == progress.next_milestone) return;
    release(progress, id);
    while (progress.next_milestone < next) {
      const std::size_t index = progress.next_milestone++ - progress.bracket;
      const bool waits = may_wait && progress.next_milestone == next;
      brackets_[progress.bracket][index].enter({value, id}, waits);
    }
    if (!may_wait) return;
    progress.is_waiting = true;
    progress.value = value;
    --active_;
  }

  [[nodiscard]] PromotionRung& rung_of(const Progress& progress) {
    return brackets_[progress.bracket][progress.next_milestone - 1 - progress.bracket];
  }

  Decision end(SchedulerContext& context, TrialId id, double time) {
    if (options_.stop_last_trials) {
      context.explain(id, plan_.explain_end(time));
      return Decision::stop;
    }
    context.no_decision_before(id, std::numeric_limits<double>::infinity());
    return Decision::proceed;
  }

  void release(Progress& progress, TrialId id) {
    if (!progress.is_waiting) return;
    rung_of(progress).release({progress.value, id});
    progress.is_waiting = false;
    ++active_;
  }

  void forget(TrialId id) {
    const auto found = progress_.find(id);
    if (found == progress_.end()) return;
    release(found->second, id);
    --active_;
    progress_.erase(found);
  }

  // The trial that a slot can have; others that it promotes on the way need none, or not yet.
  std::optional<TrialId> promote_from(SchedulerContext& context, std::size_t bracket) {
    std::vector<PromotionRung>& rungs = brackets_[bracket];
    for (auto rung = rungs.rbegin(); rung != rungs.rend(); ++rung) {
      while (const std::optional<RungEntry> best = rung->promotable()) {
        promote(context, *rung, *best);
        const Trial* trial = context.find(best->trial);
        // On its way to the pause it goes on by itself, and one that failed there waits its time.
        if (trial->state() == TrialState::paused && !trial->waits_for_retry()) return best->trial;
      }
    }
    return std::nullopt;
  }

  void promote(SchedulerContext& context, const PromotionRung& rung, const RungEntry& entry) {
    Progress& progress = progress_.at(entry.trial);
    const double next = plan_.decision_time(progress.next_milestone);
    context.explain(entry.trial, rung.explain(entry) + "; goes on to " + core::number_text(next));
    context.no_decision_before(entry.trial, next);
    context.unpause(entry.trial);
    release(progress, entry.trial);
  }

  // Nothing runs that could change the rungs, and without an end nothing new will.
  void give_up(SchedulerContext& context) {
    for (std::size_t i = 0; i < brackets_.size(); ++i) {
      for (const PromotionRung& rung : brackets_[(turn_ + i) % brackets_.size()]) {
        if (rung.waiting().empty()) continue;
        if (context.new_trials() == NewTrials::none) return stop_all(context);
        const RungEntry worst = *rung.waiting().rbegin();
        context.explain(worst.trial, rung.explain(worst) +
                                         "; makes room, since the searcher waits and none runs");
        return context.stop(worst.trial);
      }
    }
  }

  void stop_all(SchedulerContext& context) {
    for (const auto& [id, progress] : progress_) {
      context.explain(id, rung_of(progress).explain({progress.value, id}) +
                              "; no trial is left that could change this");
      context.stop(id);
    }
  }

  void make_brackets(Mode mode) {
    mode_ = mode;
    const std::vector<double>& milestones = plan_.milestones();
    for (std::size_t s = 0; s < plan_.sizes().size(); ++s) {
      Bracket& bracket = brackets_.emplace_back();
      for (std::size_t i = s; i < milestones.size(); ++i) {
        bracket.emplace_back(milestones[i], options_.reduction_factor, mode);
      }
    }
  }

  void restore_trial(const Json& trial) {
    const Progress progress{.bracket = trial.at(1).get<std::size_t>(),
                            .next_milestone = trial.at(2).get<std::size_t>()};
    const bool is_possible = progress.bracket < plan_.sizes().size() &&
                             progress.next_milestone >= progress.bracket &&
                             progress.next_milestone <= plan_.milestones().size();
    if (!is_possible) plan_.refuse_saved_trial(trial);
    progress_[TrialId{trial.at(0).get<std::uint64_t>()}] = progress;
    ++active_;
  }

  void restore_rungs(const Json& brackets) {
    plan_.check_saved_count("the saved state", brackets.size(), brackets_.size(), "brackets");
    for (std::size_t s = 0; s < brackets_.size(); ++s) {
      plan_.check_saved_count("bracket " + std::to_string(s) + " of the saved state",
                              brackets[s].size(), brackets_[s].size(), "rungs");
      for (std::size_t i = 0; i < brackets_[s].size(); ++i) {
        brackets_[s][i].restore(brackets[s][i]);
        for (const RungEntry& entry : brackets_[s][i].waiting()) let_wait(entry);
      }
    }
  }

  void let_wait(const RungEntry& entry) {
    Progress& progress = progress_.at(entry.trial);
    progress.is_waiting = true;
    progress.value = entry.value;
    --active_;
  }

  AshaPlan plan_;
  AshaOptions options_;
  std::optional<Mode> mode_;  // known from the first trial on
  std::vector<Bracket> brackets_;
  std::map<TrialId, Progress> progress_;  // of live trials
  std::int64_t active_ = 0;               // of these, those that do not wait in a rung
  std::size_t turn_ = 0;                  // the bracket that new trials go to
  std::uint64_t begun_in_turn_ = 0;
};

}  // namespace

std::unique_ptr<TrialScheduler> asha_promotion(AshaPlan plan) {
  return std::make_unique<AshaPromotionScheduler>(std::move(plan));
}

}  // namespace tune::schedulers
