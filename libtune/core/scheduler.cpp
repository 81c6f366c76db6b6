#include <tune/scheduler.hpp>

#include <array>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <typeinfo>

#include <tune/trainable.hpp>

namespace tune {

std::string_view to_string(Decision decision) {
  constexpr std::array<std::string_view, 3> names = {"proceed", "pause", "stop"};
  return names.at(static_cast<std::size_t>(decision));
}

TrialScheduler::~TrialScheduler() = default;

void TrialScheduler::on_trial_added(SchedulerContext&, const Trial&) {}

void TrialScheduler::on_trial_completed(SchedulerContext&, const Trial&, const Result&) {}

void TrialScheduler::on_trial_failed(SchedulerContext&, const Trial&) {}

std::optional<TrialId> TrialScheduler::choose_trial_to_run(SchedulerContext& context) {
  const std::set<TrialId>& pending = context.pending_trials();
  return pending.empty() ? std::nullopt : std::optional<TrialId>(*pending.begin());
}

bool TrialScheduler::needs_checkpoints() const { return false; }

std::string TrialScheduler::time_attr() const { return "training_iteration"; }

std::optional<Objective> TrialScheduler::objective() const { return std::nullopt; }

bool TrialScheduler::needs_metric() const { return true; }

Json TrialScheduler::save() const { return nullptr; }

void TrialScheduler::restore(const Json& state) {
  // A class that saves but does not restore would go on without its state, and nobody would notice.
  if (!state.is_null()) {
    throw std::logic_error("scheduler " + detail::unqualified_name(typeid(*this)) +
                           " has a saved state but does not override restore");
  }
}

Json TrialScheduler::options() const { return {{"name", detail::unqualified_name(typeid(*this))}}; }

std::string TrialScheduler::describe() const { return detail::unqualified_name(typeid(*this)); }

}  // namespace tune
