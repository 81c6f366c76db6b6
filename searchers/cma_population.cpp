#include "cma_population.hpp"

#include <algorithm>
#include <numeric>

namespace tune::searchers {

std::vector<std::size_t> ranked(const std::vector<CmaMember>& members) {
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return members[a].standing < members[b].standing;
  });
  return order;
}

std::vector<double> shared_weights(const std::vector<CmaMember>& members,
                                   const std::vector<std::size_t>& order,
                                   std::vector<double> weights) {
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    double sum = 0;
    while (last < order.size() && members[order[last]].standing == members[order[first]].standing) {
      sum += weights[last++];
    }
    const double mean = sum / static_cast<double>(last - first);
    if (last - first > 1) std::fill(weights.begin() + first, weights.begin() + last, mean);
    first = last;
  }
  double above = 0;
  for (const double weight : weights) above += std::max(weight, 0.0);
  // Shared with what is below zero, those above may sum to less than 1.
  if (above > 0) {
    for (double& weight : weights) weight = weight > 0 ? weight / above : weight;
  }
  return weights;
}

OptionProbabilities::OptionProbabilities(std::size_t count, double least)
    : values_(count, 1 / static_cast<double>(count)), least_(least) {}

std::size_t OptionProbabilities::draw(Random& random) const { return draw(random, 0); }

std::size_t OptionProbabilities::draw(Random& random, double share) const {
  if (random.uniform() < share) return random.below(values_.size());
  double left = random.uniform();
  for (std::size_t option = 0; option + 1 < values_.size(); ++option) {
    if (left < values_[option]) return option;
    left -= values_[option];
  }
  return values_.size() - 1;
}

void OptionProbabilities::move_to(std::size_t option, double rate) {
  for (double& value : values_) value *= 1 - rate;
  values_[option] += rate;
}

void OptionProbabilities::keep_least() {
  double spare = 0;  // above the least, in all
  for (const double value : values_) spare += std::max(value - least_, 0.0);
  const double available = 1 - least_ * static_cast<double>(values_.size());
  for (double& value : values_) {
    value = least_ + (spare > 0 ? std::max(value - least_, 0.0) * available / spare : 0);
  }
}

Json OptionProbabilities::save() const { return {least_, values_}; }

void OptionProbabilities::restore(const Json& state) {
  least_ = state.at(0).get<double>();
  values_ = state.at(1).get<std::vector<double>>();
}

Json saved_members(const std::vector<CmaMember>& members) {
  Json saved = Json::array();
  for (const CmaMember& member : members) {
    Json place = Json::array();
    for (const double coordinate : member.place) place.push_back(coordinate);
    saved.push_back({member.standing.save(), std::move(place), member.options});
  }
  return saved;
}

std::vector<CmaMember> restored_members(const Json& state) {
  std::vector<CmaMember> members;
  for (const Json& entry : state) {
    const auto place = entry.at(1).get<std::vector<double>>();
    CmaMember& member = members.emplace_back();
    member.standing.restore(entry.at(0));
    member.place =
        Eigen::Map<const Eigen::VectorXd>(place.data(), static_cast<Eigen::Index>(place.size()));
    member.options = entry.at(2).get<std::vector<std::int64_t>>();
  }
  return members;
}

}  // namespace tune::searchers
