#include <tune/scheduler_context.hpp>

#include <cmath>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace tune {

const Trial* SchedulerContext::find(TrialId id) const {
  const auto found = live_.find(id);
  return found == live_.end() ? nullptr : &found->second;
}

Random SchedulerContext::random(TrialId id, std::uint64_t index) const {
  return {seed_, "scheduler", id.value(), index};
}

void SchedulerContext::stop(TrialId id) {
  if (find(id) != nullptr) requests_.emplace_back(StopTrial{id});
}

void SchedulerContext::pause(TrialId id) {
  if (find(id) != nullptr) requests_.emplace_back(PauseTrial{id});
}

void SchedulerContext::unpause(TrialId id) {
  if (find(id) != nullptr) requests_.emplace_back(UnpauseTrial{id});
}

void SchedulerContext::save(TrialId id) {
  if (find(id) != nullptr) requests_.emplace_back(SaveTrial{id});
}

bool SchedulerContext::exploit(TrialId target, TrialId source, Config config) {
  const Trial* from = find(source);
  if (find(target) == nullptr || from == nullptr || !from->checkpoint_iteration()) return false;
  requests_.emplace_back(ExploitTrial{target, source, std::move(config)});
  return true;
}

void SchedulerContext::set_resources(TrialId id, Resources resources) {
  if (find(id) != nullptr) requests_.emplace_back(ChangeResources{id, std::move(resources)});
}

void SchedulerContext::no_decision_before(TrialId id, double time) {
  if (std::isnan(time)) {
    throw std::invalid_argument("no_decision_before: the time for trial " +
                                std::to_string(id.value()) + " is nan");
  }
  if (find(id) != nullptr) requests_.emplace_back(DecisionHorizon{id, time});
}

void SchedulerContext::explain(TrialId id, std::string reason) {
  if (find(id) != nullptr) requests_.emplace_back(Explanation{id, std::move(reason)});
}

Trial& SchedulerContext::add(Trial trial) {
  const TrialId id = trial.id();
  sort_in(id, trial);
  return live_.insert_or_assign(id, std::move(trial)).first->second;
}

Trial* SchedulerContext::find_mutable(TrialId id) {
  const auto found = live_.find(id);
  return found == live_.end() ? nullptr : &found->second;
}

void SchedulerContext::set_state(TrialId id, TrialState state) {
  Trial& trial = live_.at(id);
  trial.state_ = state;
  sort_in(id, trial);
}

void SchedulerContext::set_waits_for_retry(TrialId id, bool waits) {
  Trial& trial = live_.at(id);
  trial.waits_for_retry_ = waits;
  sort_in(id, trial);
}

void SchedulerContext::sort_in(TrialId id, const Trial& trial) {
  aside_.erase(id);
  if (trial.state() == TrialState::pending && !trial.waits_for_retry()) {
    pending_.insert(id);
  } else {
    pending_.erase(id);
  }
  if (trial.state() == TrialState::running) {
    running_.insert(id);
  } else {
    running_.erase(id);
  }
}

void SchedulerContext::set_aside(TrialId id) {
  if (pending_.erase(id) > 0) aside_.insert(id);
}

void SchedulerContext::put_back() {
  pending_.merge(aside_);
  aside_.clear();
}

void SchedulerContext::finish(TrialId id, const FinishedTrial& finished) {
  pending_.erase(id);
  aside_.erase(id);
  running_.erase(id);
  live_.erase(id);
  finished_.insert_or_assign(id, finished);
}

std::vector<SchedulerRequest> SchedulerContext::take_requests() {
  return std::exchange(requests_, {});
}

std::vector<SchedulerRequest> SchedulerContext::take_requests_from(std::size_t count) {
  if (requests_.size() == count) return {};
  const auto first = requests_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<SchedulerRequest> taken(std::make_move_iterator(first),
                                      std::make_move_iterator(requests_.end()));
  requests_.erase(first, requests_.end());
  return taken;
}

void SchedulerContext::put_requests(std::vector<SchedulerRequest> requests) {
  requests_.insert(requests_.end(), std::make_move_iterator(requests.begin()),
                   std::make_move_iterator(requests.end()));
}

bool SchedulerContext::take_hold() { return std::exchange(held_, false); }

}  // namespace tune
