#include "rung_model.hpp"

#include <algorithm>
#include <cmath>

namespace tune::test {

RungModel::RungModel(RungRule rule, const Json& options, Mode mode)
    : rule_(rule),
      mode_(mode),
      max_t_(options.at("max_t").get<double>()),
      reduction_factor_(options.at("reduction_factor").get<double>()),
      is_progressive_(options.at("name") == "pasha") {
  for (double m = options.at("grace_period").get<double>(); m < max_t_; m *= reduction_factor_) {
    milestones_.push_back(m);
  }
  rungs_.resize(milestones_.size());
}

std::string RungModel::on_result(TrialId id, double time, double value, Decision decision) {
  std::size_t& next = next_[id];
  const std::size_t before = next;
  while (next < milestones_.size() && time >= milestones_[next]) {
    rungs_[next++].emplace_back(value, id);
  }
  if (time >= max_t_) return decision == Decision::stop ? "" : "goes on beyond max_t";
  if (next == before) return decision == Decision::proceed ? "" : "a decision between milestones";
  const std::size_t rung = next - 1;
  if (rule_ == RungRule::stops) {
    const bool is_in = rank_of(rung, {value, TrialId{0}}) < std::max<std::size_t>(1, places(rung));
    return is_in == (decision == Decision::proceed) ? "" : "not the best of its rung go on";
  }
  if (decision == Decision::proceed) return promote(id, rung, value);
  if (decision == Decision::pause) waiting_[id] = {rung, value};
  return decision == Decision::pause ? "" : "stopped below max_t";
}

std::string RungModel::on_promoted(TrialId id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return "runs again and waited in no rung";
  const auto [rung, value] = found->second;
  waiting_.erase(found);
  return promote(id, rung, value);
}

std::string RungModel::promote(TrialId id, std::size_t rung, double value) {
  highest_ = std::max(highest_, rung + 1);
  if (!promoted_.insert({id, rung}).second) return "promoted twice from a rung";
  if (rank_of(rung, {value, id}) < places(rung)) return "";
  return "promoted, and is not among the best of its rung";
}

std::string RungModel::on_nobody(const SchedulerContext& context) const {
  if (rule_ != RungRule::promotes) return "";
  for (const auto& [id, place] : waiting_) {
    const auto& [rung, value] = place;
    const Trial* trial = context.find(id);
    if (trial == nullptr || trial->state() != TrialState::paused || trial->waits_for_retry()) {
      continue;
    }
    if (is_progressive_ && rung >= highest_) continue;  // whether it is open is not seen from here
    if (rank_of(rung, {value, id}) < places(rung)) {
      return "trial " + std::to_string(id.value()) + " is stranded, it could be promoted";
    }
  }
  return "";
}

// How many stand before it; of equal values, those of earlier trials.
std::size_t RungModel::rank_of(std::size_t rung, const Entry& entry) const {
  std::vector<Entry> sorted = rungs_[rung];
  const auto is_before = [this](const Entry& a, const Entry& b) {
    if (is_better(mode_, a.first, b.first)) return true;
    return !is_better(mode_, b.first, a.first) && a.second < b.second;
  };
  std::sort(sorted.begin(), sorted.end(), is_before);
  return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), entry, is_before) -
                                  sorted.begin());
}

std::size_t RungModel::places(std::size_t rung) const {
  return static_cast<std::size_t>(
      std::floor(static_cast<double>(rungs_[rung].size()) / reduction_factor_));
}

}  // namespace tune::test
