#include "searchers/observations.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/saved_number.hpp"

namespace tune::searchers {
namespace {

using core::restored_number;
using core::saved_number;
using State = Observation::State;

const std::string owner = "searcher";

bool is_same_point(const Point& a, const Point& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

Json saved_numbers(const std::vector<double>& values) {
  Json saved = Json::array();
  for (const double value : values) saved.push_back(saved_number(value));
  return saved;
}

std::vector<double> restored_numbers(const Json& saved) {
  std::vector<double> values;
  for (const Json& value : saved) values.push_back(restored_number(value, owner));
  return values;
}

}  // namespace

Observations::Observations(const EncodedSpace& space, const Objective& objective,
                           std::int64_t reduction_factor)
    : space_(&space),
      sign_(objective.mode == Mode::min ? 1 : -1),
      reduction_factor_(reduction_factor) {}

std::optional<std::size_t> Observations::find(TrialId id) const {
  const auto found = numbers_.find(id);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

void Observations::on_trial_added(TrialId id, const Config& config) { at(id, config); }

void Observations::on_trial_result(TrialId id, const Config& config, const Result& result) {
  take(at(id, config), result);
}

void Observations::on_trial_completed(TrialId id, const Config& config, const Result& last) {
  Observation& observation = at(id, config);
  // It may have ended without any result: then nothing is known of it.
  if (last.training_iteration > 0) take(observation, last);
  end(observation, last.stopped_by_scheduler ? State::stopped_early : State::completed);
}

void Observations::on_trial_failed(TrialId id, const Config& config, bool infeasible) {
  end(at(id, config), infeasible ? State::infeasible : State::failed);
}

Observation& Observations::at(TrialId id, const Config& config) {
  const auto [place, is_new] = numbers_.try_emplace(id, all_.size());
  Point point = space_->encode(config.json());
  if (is_new) {
    all_.push_back({.trial = id, .point = std::move(point), .levels = {}});
  } else if (Observation& known = all_[place->second]; !is_same_point(known.point, point)) {
    known.point = std::move(point);
    known.levels.clear();
  }
  return all_[place->second];
}

void Observations::take(Observation& observation, const Result& result) {
  const double target = result.target();
  observation.loss =
      std::isfinite(target) ? sign_ * target : std::numeric_limits<double>::infinity();
  observation.iteration = result.training_iteration;
  // Levels that it passed before it changed its configuration have the loss of today.
  std::int64_t next = 1;
  for (std::size_t level = 0; next <= result.training_iteration; ++level) {
    if (level == observation.levels.size()) observation.levels.push_back(observation.loss);
    if (next > std::numeric_limits<std::int64_t>::max() / reduction_factor_) break;
    next *= reduction_factor_;
  }
}

void Observations::end(Observation& observation, State state) {
  if (observation.is_running()) ++ended_;
  observation.state = state;
}

std::optional<double> Observations::loss_at(const Observation& observation, std::size_t level) {
  if (observation.is_failure() || !observation.has_loss()) return std::nullopt;
  const std::size_t top = observation.levels.size() - 1;
  if (level < top) return observation.levels[level];
  if (level == top) {
    return observation.is_running() ? observation.levels[top] : observation.loss;
  }
  return observation.state == State::completed ? std::optional(observation.loss) : std::nullopt;
}

std::size_t Observations::highest_level(std::size_t enough) const {
  std::vector<std::size_t> counts;  // of those whose highest level is this one
  std::size_t completed = 0;
  for (const Observation& observation : all_) {
    if (observation.is_failure() || !observation.has_loss()) continue;
    if (observation.levels.size() > counts.size()) counts.resize(observation.levels.size());
    if (observation.state == State::completed) {
      ++completed;
    } else {
      ++counts[observation.levels.size() - 1];
    }
  }
  std::size_t count = completed;
  std::size_t level = counts.size();
  while (level > 0 && count < enough) count += counts[--level];
  return level;
}

Json Observations::save() const {
  Json saved = Json::array();
  for (const Observation& observation : all_) {
    saved.push_back({observation.trial.value(), static_cast<int>(observation.state),
                     observation.iteration, saved_number(observation.loss),
                     saved_numbers(observation.levels), saved_numbers(observation.point)});
  }
  return saved;
}

void Observations::restore(const Json& state) {
  all_.clear();
  numbers_.clear();
  ended_ = 0;
  for (const Json& entry : state) {
    const TrialId id{entry.at(0).get<std::uint64_t>()};
    numbers_[id] = all_.size();
    all_.push_back({.trial = id,
                    .point = restored_numbers(entry.at(5)),
                    .state = static_cast<State>(entry.at(1).get<int>()),
                    .loss = restored_number(entry.at(3), owner),
                    .iteration = entry.at(2).get<std::int64_t>(),
                    .levels = restored_numbers(entry.at(4))});
    if (!all_.back().is_running()) ++ended_;
  }
}

}  // namespace tune::searchers
