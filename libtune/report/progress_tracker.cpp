#include "report/progress_tracker.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace tune::report {
namespace {

constexpr std::size_t max_error_bytes = 500;
// So many different reasons are told apart.
constexpr std::size_t max_known_reasons = 100;

std::string first_line(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return {};
  const std::size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
  return text.substr(begin, std::min(end - begin, max_error_bytes));
}

}  // namespace

void ProgressTracker::experiment_started(const ExperimentInfo& experiment) {
  name_ = experiment.name;
  path_ = experiment.path;
  objective_ = experiment.objective;
}

void ProgressTracker::set_state(Live& live, TrialState state) {
  --counts_.of(live.state);
  ++counts_.of(state);
  live.state = state;
  if (state == TrialState::running) {
    running_.insert(live.trial.id);
  } else {
    running_.erase(live.trial.id);
  }
}

void ProgressTracker::trial_restored(const RestoredTrial& restored) {
  Live live;
  TrialProgress& trial = live.trial;
  trial.id = restored.trial.id;
  trial.name = restored.trial.name;
  trial.config = restored.trial.config;
  trial.value = restored.value;
  if (restored.last) {
    trial.training_iteration = restored.last->training_iteration;
    trial.time_total_s = restored.last->time_total_s;
    trial.metrics = restored.last->metrics;
    if (objective_ && !trial.value) trial.value = restored.last->number(objective_->metric);
  }
  // What ran when the driver was killed waits now.
  live.state = restored.state == TrialState::running ? TrialState::pending : restored.state;
  ++counts_.of(live.state);
  results_ += trial.training_iteration;
  if (!restored.error.empty()) ++failed_starts_;
  restored_trials_ += restored.has_ended() ? 1 : part_done(trial);
  if (restored.has_ended()) {
    end_trial(live, restored.reason, restored.error);
  } else {
    live_.insert_or_assign(trial.id, live);
  }
}

void ProgressTracker::trial_restarted(TrialId id) {
  const auto found = live_.find(id);
  if (found == live_.end()) return;
  TrialProgress& trial = found->second.trial;
  restored_trials_ -= part_done(trial);
  trial.training_iteration = 0;
  trial.time_total_s = 0;
  trial.metrics = {};
  trial.value.reset();
}

void ProgressTracker::trial_added(TrialId id, const std::string& name, const Config& config) {
  const auto [place, is_new] = live_.try_emplace(id);
  if (!is_new) return;
  place->second.trial.id = id;
  place->second.trial.name = name;
  place->second.trial.config = config;
  ++counts_.pending;
}

void ProgressTracker::trial_started(const TrialInfo& trial) {
  const auto found = live_.find(trial.id);
  if (found == live_.end()) return;
  found->second.trial.config = trial.config;
  set_state(found->second, TrialState::running);
}

void ProgressTracker::result(TrialId id, const Result& result) {
  ++results_;
  const auto found = live_.find(id);
  if (found == live_.end()) return;
  TrialProgress& trial = found->second.trial;
  trial.training_iteration = result.training_iteration;
  trial.time_total_s = result.time_total_s;
  trial.metrics = result.metrics;
  if (!objective_) return;
  // One without the metric leaves the last value that there was.
  if (const auto value = result.number(objective_->metric)) trial.value = value;
}

void ProgressTracker::trial_state(TrialId id, TrialState state, const std::string& reason,
                                  const std::string& error) {
  const auto found = live_.find(id);
  if (found == live_.end()) return;
  Live& live = found->second;
  set_state(live, state);
  if (!error.empty()) ++failed_starts_;
  if (state != TrialState::error && state != TrialState::terminated) return;
  end_trial(live, reason, error);
  live_.erase(found);
}

void ProgressTracker::end_trial(const Live& live, const std::string& reason,
                                const std::string& error) {
  if (live.state == TrialState::error) {
    note_failure(live.trial, error.empty() ? reason : error);
  } else {
    const bool is_known = reasons_.contains(reason) || reasons_.size() < max_known_reasons;
    ++reasons_[is_known ? reason : "other reasons"];
  }
  offer_as_best(live.trial);
}

void ProgressTracker::note_failure(const TrialProgress& trial, const std::string& error) {
  failures_.push_back({trial.id, trial.name, first_line(error), path_ / trial.name / "error.txt"});
  if (failures_.size() > max_failures) failures_.pop_front();
}

// Ties go to the lowest id, as in ResultGrid::best().
bool ProgressTracker::is_better_than(const TrialProgress& a, const TrialProgress& b) const {
  if (is_better(objective_->mode, *a.value, *b.value)) return true;
  return !is_better(objective_->mode, *b.value, *a.value) && a.id < b.id;
}

void ProgressTracker::offer_as_best(const TrialProgress& trial) {
  if (!trial.value || !std::isfinite(*trial.value)) return;
  if (!best_ended_ || is_better_than(trial, *best_ended_)) best_ended_ = trial;
}

std::optional<TrialProgress> ProgressTracker::best() const {
  const TrialProgress* best = best_ended_ ? &*best_ended_ : nullptr;
  for (const auto& [id, live] : live_) {
    if (!live.trial.value || !std::isfinite(*live.trial.value)) continue;
    if (best == nullptr || is_better_than(live.trial, *best)) best = &live.trial;
  }
  return best != nullptr ? std::optional(*best) : std::nullopt;
}

double ProgressTracker::part_done(const TrialProgress& trial) const {
  if (!expected_.max_iterations || *expected_.max_iterations <= 0) return 0;
  const auto most = static_cast<double>(*expected_.max_iterations);
  return std::min(1.0, static_cast<double>(trial.training_iteration) / most);
}

double ProgressTracker::restored_fraction() const {
  if (!expected_.trials || *expected_.trials <= 0) return 0;
  return std::clamp(restored_trials_ / static_cast<double>(*expected_.trials), 0.0, 1.0);
}

std::optional<double> ProgressTracker::fraction(Progress::Seconds now) const {
  std::optional<double> done;
  if (expected_.trials && *expected_.trials > 0) {
    auto trials = static_cast<double>(counts_.ended());
    for (const auto& [id, live] : live_) trials += part_done(live.trial);
    done = trials / static_cast<double>(*expected_.trials);
  }
  if (expected_.time_budget && expected_.time_budget->count() > 0) {
    done = std::max(done.value_or(0), now / *expected_.time_budget);
  }
  return done ? std::optional(std::clamp(*done, 0.0, 1.0)) : std::nullopt;
}

std::optional<Progress::Seconds> ProgressTracker::remaining(Progress::Seconds now) {
  if (end_) return std::nullopt;
  const double done = fraction(now).value_or(0);
  if (done > last_work_) {
    last_work_ = done;
    last_work_at_ = now;
  }
  std::optional<Progress::Seconds> left;
  const double before = restored_fraction();
  if (last_work_ > before) {
    const Progress::Seconds expected_end = last_work_at_ / (last_work_ - before) * (1 - before);
    if (expected_end > now) left = expected_end - now;
  }
  if (expected_.time_budget && *expected_.time_budget > now) {
    const Progress::Seconds until_budget = *expected_.time_budget - now;
    left = left ? std::min(*left, until_budget) : until_budget;
  }
  return left;
}

Progress ProgressTracker::snapshot(Progress::Seconds now) {
  Progress progress;
  progress.name = name_;
  progress.path = path_;
  progress.objective = objective_;
  progress.counts = counts_;
  progress.expected_trials = expected_.trials;
  progress.max_iterations = expected_.max_iterations;
  progress.results = results_;
  progress.fraction = fraction(now);
  progress.elapsed = now;
  progress.remaining = remaining(now);
  if (objective_) progress.best = best();
  for (const TrialId id : running_) {
    if (progress.rows.size() == max_rows) break;
    progress.rows.push_back(live_.at(id).trial);
  }
  progress.failures.assign(failures_.begin(), failures_.end());
  progress.failed_starts = failed_starts_;
  progress.reasons.assign(reasons_.begin(), reasons_.end());
  std::stable_sort(progress.reasons.begin(), progress.reasons.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (progress.reasons.size() > max_reasons) progress.reasons.resize(max_reasons);
  progress.resources_in_use = status_.resources_in_use;
  progress.resources = status_.resources;
  progress.nodes = status_.nodes;
  progress.scheduler = status_.scheduler;
  progress.waiting = status_.waiting;
  progress.end = end_;
  return progress;
}

}  // namespace tune::report
