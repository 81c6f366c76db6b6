#include "population_scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include <tune/error.hpp>

#include "core/number_text.hpp"

namespace tune::schedulers {
namespace {

using core::number_text;

std::string id_text(TrialId id) { return std::to_string(id.value()); }

}  // namespace

PopulationScheduler::PopulationScheduler(PopulationOptions options) : options_(std::move(options)) {
  if (options_.time_attr.empty()) refuse("time_attr must name a field, is empty");
  if (!options_.metric.empty() && !options_.mode) {
    refuse("metric is " + options_.metric + ", so mode must be min or max, is not set");
  }
  if (!(options_.perturbation_interval > 0) || !std::isfinite(options_.perturbation_interval)) {
    refuse("perturbation_interval must be above 0, is " +
           number_text(options_.perturbation_interval));
  }
  if (!(options_.burn_in_period >= 0) || !std::isfinite(options_.burn_in_period)) {
    refuse("burn_in_period must be at least 0, is " + number_text(options_.burn_in_period));
  }
  if (!(options_.quantile_fraction >= 0 && options_.quantile_fraction <= 0.5)) {
    refuse("quantile_fraction must be from 0 to 0.5, is " +
           number_text(options_.quantile_fraction));
  }
  barrier_ = first_due();
}

void PopulationScheduler::refuse(const std::string& what) const {
  throw std::invalid_argument(options_.name + ": " + what);
}

void PopulationScheduler::on_score(const SchedulerContext&, const Trial&, double, double) {}

void PopulationScheduler::on_left(TrialId) {}

// --- what comes from the engine

void PopulationScheduler::on_trial_added(SchedulerContext& context, const Trial& trial) {
  Member member;
  const std::optional<Result>& last = trial.last_result();
  if (last) member.time = last->number(options_.time_attr).value_or(0);
  member.due = options_.synch ? barrier_ : due_after(first_due(), member.time);
  context.no_decision_before(trial.id(), member.due);
  members_.insert_or_assign(trial.id(), std::move(member));
  if (options_.synch) coming_.insert(trial.id());
}

Decision PopulationScheduler::on_trial_result(SchedulerContext& context, const Trial& trial,
                                              const Result& result) {
  const auto found = members_.find(trial.id());
  const std::optional<double> time = result.number(options_.time_attr);
  if (found == members_.end() || !time) return Decision::proceed;
  Member& member = found->second;
  confirm(context, trial, member);
  set_place(trial.id(), member, Place::training);
  member.time = *time;
  if (member.time < member.due) return Decision::proceed;
  know_mode(context);
  set_score(trial.id(), member, result.target());
  on_score(context, trial, member.time, result.target());
  return options_.synch ? wait(context, trial.id(), member) : end_interval(context, trial, member);
}

void PopulationScheduler::on_trial_completed(SchedulerContext& context, const Trial& trial,
                                             const Result&) {
  forget(context, trial);
}

void PopulationScheduler::on_trial_failed(SchedulerContext& context, const Trial& trial) {
  forget(context, trial);
}

void PopulationScheduler::forget(SchedulerContext& context, const Trial& trial) {
  const auto found = members_.find(trial.id());
  if (found == members_.end()) return;
  Member& member = found->second;
  confirm(context, trial, member);
  set_place(trial.id(), member, Place::training);
  clear_score(trial.id(), member);
  coming_.erase(trial.id());
  on_left(trial.id());
  members_.erase(found);
}

// A pending one that was interrupted by a fault or by the end of the program, if only on its way to
// a pause: it has its slot back. One that is to become a clone has given it away.
std::optional<TrialId> PopulationScheduler::first_interrupted(
    const SchedulerContext& context) const {
  std::size_t looked_at = 0;
  for (const TrialId id : context.pending_trials()) {
    constexpr std::size_t most = 64;  // of clones that wait there may be a quantile
    if (++looked_at > most) break;
    const auto member = members_.find(id);
    const std::uint32_t incarnation = context.find(id)->incarnation();
    if (member == members_.end() || incarnation == 0) continue;
    const std::optional<Exchange>& exchange = member->second.exchange;
    if (!exchange || incarnation != exchange->incarnation) return id;
  }
  return std::nullopt;
}

// New trials come before all others: they have the least progress.
std::optional<TrialId> PopulationScheduler::choose_trial_to_run(SchedulerContext& context) {
  if (!context.pending_trials().empty()) {
    if (const auto interrupted = first_interrupted(context)) return interrupted;
    const TrialId pending = *context.pending_trials().begin();
    const auto member = members_.find(pending);
    const double time = member == members_.end() ? 0 : member->second.time;
    const std::optional<TrialId> ready = first_ready(context);
    const bool is_ready_first =
        ready && std::pair(members_.at(*ready).time, *ready) < std::pair(time, pending);
    return is_ready_first ? ready : pending;
  }
  if (context.new_trials() == NewTrials::possible) return std::nullopt;
  if (const auto ready = first_ready(context)) return ready;
  if (waiting_.empty()) return std::nullopt;
  if (!are_all_there(context)) {
    context.hold();
    return std::nullopt;
  }
  exchange_all(context);
  return first_ready(context);
}

// --- intervals

double PopulationScheduler::first_due() const {
  return std::max(options_.burn_in_period, options_.perturbation_interval);
}

// The first end of an interval after `time`.
double PopulationScheduler::due_after(double due, double time) const {
  if (time < due) return due;
  const double interval = options_.perturbation_interval;
  const double passed = due + interval * std::floor((time - due) / interval);
  double next = passed + interval;
  if (next <= time) next = std::nextafter(time, INFINITY);  // the interval is lost in rounding
  return next;
}

std::size_t PopulationScheduler::quantile() const {
  const std::size_t members = ranking_ ? ranking_->size() : 0;
  if (members < 2 || options_.quantile_fraction == 0) return 0;
  const auto share = static_cast<std::size_t>(
      std::floor(static_cast<double>(members) * options_.quantile_fraction));
  return std::max<std::size_t>(1, share);
}

void PopulationScheduler::know_mode(const SchedulerContext& context) {
  if (mode_) return;
  mode_ = options_.mode.value_or(context.mode());
  ranking_.emplace(*mode_);
}

// --- asynchronous

Decision PopulationScheduler::end_interval(SchedulerContext& context, const Trial& trial,
                                           Member& member) {
  const TrialId id = trial.id();
  member.due = due_after(member.due, member.time);
  context.no_decision_before(id, member.due);
  const Standing standing{.rank = ranking_->rank({id, *member.score}),
                          .members = ranking_->size(),
                          .places = quantile()};
  if (standing.rank >= standing.members - standing.places && exploit(context, trial, standing)) {
    return Decision::proceed;  // it gives its slot away and waits for another
  }
  const bool do_others_wait = !context.pending_trials().empty() ||
                              context.new_trials() == NewTrials::possible ||
                              first_ready(context).has_value();
  if (do_others_wait) {
    context.explain(id, "gives way at " + options_.time_attr + " " + number_text(member.time) +
                            " to members that have come less far");
    set_place(id, member, Place::ready);
    return Decision::pause;
  }
  // What others may take over. With no quantile yet it is the first of all.
  if (standing.rank < std::max<std::size_t>(1, standing.places)) context.save(id);
  return Decision::proceed;
}

// --- synchronous

Decision PopulationScheduler::wait(SchedulerContext& context, TrialId id, Member& member) {
  context.explain(id, "waits at " + options_.time_attr + " " + number_text(member.time) +
                          " for the other members");
  set_place(id, member, Place::waiting);
  return Decision::pause;
}

// Also with one that was saved and started again in the meantime it is waited for.
bool PopulationScheduler::are_all_there(const SchedulerContext& context) {
  while (!saving_.empty()) {
    const Trial* trial = context.find(*saving_.begin());
    if (trial != nullptr && trial->state() != TrialState::paused) return false;
    saving_.erase(saving_.begin());
  }
  return std::none_of(coming_.begin(), coming_.end(), [&context](TrialId id) {
    const Trial* trial = context.find(id);
    if (trial == nullptr) return false;
    // A pending one that is not offered waits for a node that is big enough.
    return trial->state() != TrialState::pending || trial->waits_for_retry() ||
           context.pending_trials().contains(id);
  });
}

void PopulationScheduler::exchange_all(SchedulerContext& context) {
  const std::size_t members = ranking_->size();
  const std::size_t places = quantile();
  std::vector<TrialId> bottom;  // each that is done leaves the ranking
  for (std::size_t i = 0; i < places; ++i) bottom.push_back(ranking_->at(members - places + i).id);
  for (std::size_t i = 0; i < bottom.size(); ++i) {
    const Trial* receiver = context.find(bottom[i]);
    if (receiver == nullptr) continue;
    (void)exploit(context, *receiver, {members - places + i, members, places});
  }
  double latest = barrier_;
  for (const TrialId id : waiting_) latest = std::max(latest, members_.at(id).time);
  barrier_ = due_after(barrier_, latest);
  const std::set<TrialId> released = waiting_;
  for (const TrialId id : released) {
    Member& member = members_.at(id);
    clear_score(id, member);
    set_place(id, member, Place::ready);
  }
  for (auto& [id, member] : members_) {
    member.due = barrier_;
    context.no_decision_before(id, barrier_);
  }
}

// --- exchanges

// One of the best `places` that can be taken over from: the one that is drawn, or else the next
// that can.
const Trial* PopulationScheduler::draw_donor(const SchedulerContext& context, std::size_t places,
                                             Random& random) const {
  if (places == 0) return nullptr;
  const auto drawn = static_cast<std::size_t>(random.below(places));
  for (std::size_t i = 0; i < places; ++i) {
    const RankedTrials::Entry& entry = ranking_->at((drawn + i) % places);
    const Trial* donor = context.find(entry.id);
    if (donor == nullptr || !donor->checkpoint_iteration()) continue;
    if (std::isfinite(entry.score)) return donor;
  }
  return nullptr;
}

// False if there is nothing that could be taken over.
bool PopulationScheduler::exploit(SchedulerContext& context, const Trial& receiver,
                                  const Standing& standing) {
  const TrialId id = receiver.id();
  Member& member = members_.at(id);
  Random random = context.random(id, member.draws++);
  const Trial* donor = draw_donor(context, standing.places, random);
  if (donor == nullptr) return false;
  const double donor_score = *members_.at(donor->id()).score;
  const Config config = explore(context, receiver, *donor, random);
  if (!context.exploit(id, donor->id(), config)) return false;
  context.explain(id, "takes over from trial " + id_text(donor->id()) + ", which has " +
                          number_text(donor_score) + ", its checkpoint of iteration " +
                          std::to_string(*donor->checkpoint_iteration()) + ": " +
                          number_text(*member.score) + " ranks " +
                          std::to_string(standing.rank + 1) + " of " +
                          std::to_string(standing.members));
  member.exchange = Exchange{receiver.incarnation(), donor->id(), config};
  clear_score(id, member);
  return true;
}

// A clone that could not be loaded, or a trial that ended at that moment, has not exchanged.
void PopulationScheduler::confirm(SchedulerContext& context, const Trial& trial, Member& member) {
  if (!member.exchange) return;
  const Exchange exchange = *std::exchange(member.exchange, std::nullopt);
  if (trial.incarnation() > exchange.incarnation && trial.config() == exchange.config) {
    ++exchanges_;
  } else {
    context.explain(trial.id(), "did not take over from trial " + id_text(exchange.donor));
  }
}

// --- books

void PopulationScheduler::set_place(TrialId id, Member& member, Place place) {
  if (member.place == Place::ready) ready_.erase({member.time, id});
  if (member.place == Place::waiting) {
    waiting_.erase(id);
    saving_.erase(id);
    coming_.insert(id);
  }
  member.place = place;
  if (place == Place::ready) ready_.emplace(member.time, id);
  if (place == Place::waiting) {
    waiting_.insert(id);
    saving_.insert(id);
    coming_.erase(id);
  }
}

void PopulationScheduler::set_score(TrialId id, Member& member, double score) {
  clear_score(id, member);
  member.score = score;
  ranking_->insert({id, score});
}

void PopulationScheduler::clear_score(TrialId id, Member& member) {
  if (member.score) ranking_->erase({id, *member.score});
  member.score.reset();
}

// The first that has been saved and may be started. It stays there until it reports, since there
// may be no room for it now. O(running trials).
std::optional<TrialId> PopulationScheduler::first_ready(const SchedulerContext& context) const {
  for (const auto& [time, id] : ready_) {
    const Trial* trial = context.find(id);
    if (trial != nullptr && trial->state() == TrialState::paused && !trial->waits_for_retry()) {
      return id;
    }
  }
  return std::nullopt;
}

std::optional<Objective> PopulationScheduler::objective() const {
  if (!options_.mode) return std::nullopt;
  return Objective{.metric = options_.metric, .mode = *options_.mode};
}

}  // namespace tune::schedulers
