#include "synchronous_halving.hpp"

#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/number_text.hpp"
#include "fidelity.hpp"
#include "saved_number.hpp"

namespace tune::schedulers {
namespace {

class SynchronousHalving final : public TrialScheduler {
 public:
  explicit SynchronousHalving(HalvingPlan plan) : plan_(std::move(plan)) {}

  void on_trial_added(SchedulerContext& context, const Trial& trial) override {
    if (!mode_) set_mode(plan_.mode.value_or(context.mode()));
    if (!has_open_bracket()) begin_bracket();
    const auto newest = std::prev(brackets_.end());
    newest->second.begin_trial();
    members_.insert_or_assign(trial.id(), Member{.bracket = newest->first});
    ++active_;
    context.no_decision_before(trial.id(), newest->second.milestone());
  }

  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override {
    const std::optional<double> time = result.number(plan_.time_attr);
    const auto found = members_.find(trial.id());
    if (!time || found == members_.end()) return Decision::proceed;
    Member& member = found->second;
    if (*time >= plan_.max_t) return end(context, trial.id(), *time);
    if (member.place == Place::waiting) return Decision::pause;
    HalvingBracket& bracket = brackets_.at(member.bracket);
    if (member.place != Place::running || *time < bracket.milestone()) return Decision::proceed;
    member.time = *time;
    member.value = result.target();
    member.place = Place::waiting;
    --active_;
    bracket.enter({member.value, trial.id()});
    const std::uint64_t number = member.bracket;
    advance(context, number, trial.id());
    const auto still = members_.find(trial.id());
    if (still == members_.end()) return Decision::stop;
    if (still->second.place == Place::waiting) {
      context.explain(trial.id(), name_of(number) + ", " + brackets_.at(number).describe());
    }
    return Decision::pause;
  }

  void on_trial_completed(SchedulerContext& context, const Trial& trial, const Result&) override {
    leave(context, trial.id());
  }

  void on_trial_failed(SchedulerContext& context, const Trial& trial) override {
    leave(context, trial.id());
  }

  std::optional<TrialId> choose_trial_to_run(SchedulerContext& context) override {
    // It was decided on before: a new one, a retry, one that was promoted and had no node.
    if (!context.pending_trials().empty()) return *context.pending_trials().begin();
    if (const auto promoted = start_promoted(context)) return promoted;
    if (has_open_bracket() && must_close(context)) {
      const std::uint64_t newest = brackets_.rbegin()->first;
      brackets_.at(newest).close();
      advance(context, newest, {});
      return start_promoted(context);
    }
    if (plan_.waits_for_rung && is_first_rung_under_way()) context.hold();
    return std::nullopt;
  }

  [[nodiscard]] bool needs_checkpoints() const override { return true; }
  [[nodiscard]] std::string time_attr() const override { return plan_.time_attr; }
  [[nodiscard]] std::optional<Objective> objective() const override {
    return objective_of(plan_.metric, plan_.mode);
  }
  [[nodiscard]] Json options() const override { return plan_.options; }

  [[nodiscard]] Json save() const override {
    Json brackets = Json::array();
    for (const auto& [number, bracket] : brackets_) {
      brackets.push_back({number, bracket.rung(), bracket.begun(), bracket.is_closed()});
    }
    Json members = Json::array();
    for (const auto& [id, member] : members_) {
      members.push_back({id.value(), member.bracket, static_cast<int>(member.place), member.time,
                         saved_number(member.value)});
    }
    return {{"mode", mode_ ? Json(to_string(*mode_)) : Json()},
            {"next_bracket", next_bracket_},
            {"brackets", brackets},
            {"trials", members}};
  }

  void restore(const Json& state) override {
    mode_.reset();
    brackets_.clear();
    members_.clear();
    promoted_.clear();
    active_ = 0;
    next_bracket_ = state.at("next_bracket").get<std::uint64_t>();
    if (state.at("mode").is_null()) return;
    set_mode(state.at("mode") == "min" ? Mode::min : Mode::max);
    for (const Json& bracket : state.at("brackets")) restore_bracket(bracket);
    for (const Json& member : state.at("trials")) restore_member(member);
  }

  [[nodiscard]] std::string describe() const override {
    std::string text = plan_.name + " up to " + core::number_text(plan_.max_t);
    for (const auto& [number, bracket] : brackets_) {
      text += "; " + name_of(number) + ", " + bracket.describe();
    }
    return text;
  }

 private:
  enum class Place {
    running,   // on its way to the milestone, or pending
    waiting,   // there
    promoted,  // goes on when there is a slot
    beyond,    // got to max_t and trains on
  };

  struct Member {
    std::uint64_t bracket = 0;
    Place place = Place::running;
    double time = 0;   // of the result with which it got to its newest milestone
    double value = 0;  // and its value
  };

  using Promoted = std::set<RungEntry, EntryOrder>;

  [[nodiscard]] bool has_open_bracket() const {
    return !brackets_.empty() && brackets_.rbegin()->second.is_open();
  }

  void set_mode(Mode mode) { mode_ = mode; }

  HalvingBracket& begin_bracket() { return bracket_of(next_bracket_++); }

  HalvingBracket& bracket_of(std::uint64_t number) {
    const BracketShape& shape = plan_.shapes[number % plan_.shapes.size()];
    return brackets_.emplace(number, HalvingBracket(shape, plan_.reduction_factor, *mode_))
        .first->second;
  }

  [[nodiscard]] std::string name_of(std::uint64_t bracket) const {
    return "bracket " + std::to_string(bracket);
  }

  // Its bracket does not wait for it.
  Decision end(SchedulerContext& context, TrialId id, double time) {
    if (plan_.stop_last_trials) {
      context.explain(id, "reached max_t: " + plan_.time_attr + " " + core::number_text(time) +
                              " of " + core::number_text(plan_.max_t));
      leave(context, id);
      return Decision::stop;
    }
    if (members_.at(id).place == Place::beyond) return Decision::proceed;
    const std::uint64_t bracket = members_.at(id).bracket;
    leave(context, id);
    members_[id] = {.bracket = bracket, .place = Place::beyond};
    ++active_;
    context.no_decision_before(id, std::numeric_limits<double>::infinity());
    return Decision::proceed;
  }

  void leave(SchedulerContext& context, TrialId id) {
    const auto found = members_.find(id);
    if (found == members_.end()) return;
    const Member member = found->second;
    members_.erase(found);
    if (member.place == Place::running || member.place == Place::beyond) --active_;
    if (member.place == Place::beyond) return;
    HalvingBracket& bracket = brackets_.at(member.bracket);
    const RungEntry entry{member.value, id};
    if (member.place == Place::waiting) {
      bracket.drop(entry);
    } else {
      bracket.drop_running();
    }
    if (member.place == Place::promoted) take_promoted(member.bracket, entry);
    advance(context, member.bracket, {});
  }

  // Halves as often as a rung is complete: a trial may have jumped over the next one, too.
  // `reporting` is told by the answer to its result.
  void advance(SchedulerContext& context, std::uint64_t number, std::optional<TrialId> reporting) {
    HalvingBracket& bracket = brackets_.at(number);
    while (bracket.is_complete() && !bracket.is_over()) {
      const std::string before =
          name_of(number) + ", rung " + core::number_text(bracket.milestone()) + ": ";
      const HalvingBracket::Halving halving = bracket.halve();
      const std::size_t all = halving.kept.size() + halving.dropped.size();
      std::size_t rank = 0;
      const auto explain = [&](const RungEntry& entry) {
        context.explain(entry.trial, before + core::number_text(entry.value) + " ranks " +
                                         std::to_string(++rank) + " of " + std::to_string(all) +
                                         "; " + halving.places);
      };
      for (const RungEntry& entry : halving.kept) {
        explain(entry);
        promote(bracket, number, entry);
      }
      for (const RungEntry& entry : halving.dropped) {
        explain(entry);
        members_.erase(entry.trial);
        if (entry.trial != reporting) context.stop(entry.trial);
      }
    }
    if (bracket.is_over()) brackets_.erase(number);
  }

  void promote(HalvingBracket& bracket, std::uint64_t number, const RungEntry& entry) {
    Member& member = members_.at(entry.trial);
    if (member.time >= bracket.milestone()) {
      bracket.enter(entry);  // it is there already
      return;
    }
    member.place = Place::promoted;
    promoted_.try_emplace(number, EntryOrder(*mode_)).first->second.insert(entry);
  }

  void take_promoted(std::uint64_t bracket, const RungEntry& entry) {
    const auto found = promoted_.find(bracket);
    found->second.erase(entry);
    if (found->second.empty()) promoted_.erase(found);
  }

  // The trial that a slot can have; others that it starts on the way need none, or not yet.
  std::optional<TrialId> start_promoted(SchedulerContext& context) {
    while (!promoted_.empty()) {
      const auto& [number, entries] = *promoted_.begin();
      const RungEntry best = *entries.begin();
      Member& member = members_.at(best.trial);
      member.place = Place::running;
      ++active_;
      context.no_decision_before(best.trial, brackets_.at(number).milestone());
      context.unpause(best.trial);
      take_promoted(number, best);
      const Trial* trial = context.find(best.trial);
      // On its way to the pause it goes on by itself, and one that failed there waits its time.
      if (trial->state() == TrialState::paused && !trial->waits_for_retry()) return best.trial;
    }
    return std::nullopt;
  }

  // None will come; or the searcher waits for results, and no trial is left that could bring one.
  [[nodiscard]] bool must_close(const SchedulerContext& context) const {
    if (context.new_trials() == NewTrials::none) return true;
    return context.new_trials() == NewTrials::waiting && active_ == 0;
  }

  [[nodiscard]] bool is_first_rung_under_way() const {
    if (brackets_.empty()) return false;
    const auto& [number, bracket] = *brackets_.rbegin();
    return number + 1 == next_bracket_ && !bracket.is_open() && bracket.rung() == 0;
  }

  void restore_bracket(const Json& saved) {
    const auto number = saved.at(0).get<std::uint64_t>();
    const auto rung = saved.at(1).get<std::size_t>();
    const auto begun = saved.at(2).get<std::size_t>();
    const BracketShape& shape = plan_.shapes[number % plan_.shapes.size()];
    if (number >= next_bracket_ || rung >= shape.milestones.size() || begun > shape.size) {
      FidelityCheck(plan_.name)
          .refuse("the saved state has an impossible bracket: " + saved.dump());
    }
    bracket_of(number).restore(rung, begun, saved.at(3).get<bool>());
  }

  void restore_member(const Json& saved) {
    const TrialId id{saved.at(0).get<std::uint64_t>()};
    const auto place = saved.at(2).get<int>();
    const Member member{.bracket = saved.at(1).get<std::uint64_t>(),
                        .place = static_cast<Place>(place),
                        .time = saved.at(3).get<double>(),
                        .value = restored_number(saved.at(4))};
    const auto bracket = brackets_.find(member.bracket);
    const bool is_beyond = member.place == Place::beyond;
    if (place < 0 || place > static_cast<int>(Place::beyond) ||
        (bracket == brackets_.end() && !is_beyond)) {
      FidelityCheck(plan_.name).refuse("the saved state has an impossible trial: " + saved.dump());
    }
    members_[id] = member;
    if (member.place == Place::running || is_beyond) ++active_;
    if (is_beyond) return;
    const RungEntry entry{member.value, id};
    if (member.place == Place::waiting) return bracket->second.resume_entered(entry);
    bracket->second.resume_running();
    if (member.place != Place::promoted) return;
    promoted_.try_emplace(member.bracket, EntryOrder(*mode_)).first->second.insert(entry);
  }

  HalvingPlan plan_;
  std::optional<Mode> mode_;                          // known from the first trial on
  std::uint64_t next_bracket_ = 0;                    // how many began
  std::map<std::uint64_t, HalvingBracket> brackets_;  // those that are not over; only the newest
                                                      // may be open
  std::map<TrialId, Member> members_;                 // live trials
  std::map<std::uint64_t, Promoted> promoted_;        // by bracket; none is empty
  std::int64_t active_ = 0;                           // members that need no decision to go on
};

}  // namespace

std::unique_ptr<TrialScheduler> synchronous_halving(HalvingPlan plan) {
  return std::make_unique<SynchronousHalving>(std::move(plan));
}

}  // namespace tune::schedulers
