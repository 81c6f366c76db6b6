#include "runtime/worker_meeting.hpp"

#include <array>
#include <cmath>
#include <utility>

namespace tune::runtime {
namespace {

constexpr std::array<const char*, 4> reduction_names = {"sum", "mean", "min", "max"};

std::string describe(const TeamArrival& arrival) {
  if (!arrival.is_reduction) return "barrier()";
  return "all_reduce() of " + std::to_string(arrival.values.size()) + " numbers (" +
         reduction_names[static_cast<std::size_t>(arrival.reduction)] + ")";
}

bool is_same_call(const TeamArrival& a, const TeamArrival& b) {
  return a.is_reduction == b.is_reduction && a.reduction == b.reduction &&
         a.values.size() == b.values.size();
}

// NaN counts: what one worker could not compute, all shall see.
double combine(Reduction reduction, double a, double b) {
  if (reduction == Reduction::sum || reduction == Reduction::mean) return a + b;
  if (std::isnan(a) || std::isnan(b)) return std::nan("");
  if (reduction == Reduction::min) return b < a ? b : a;
  return b > a ? b : a;
}

}  // namespace

std::vector<WorkerMeeting::Release> WorkerMeeting::arrive(std::size_t rank, TeamArrival arrival) {
  if (!absent_.empty()) {
    return {{rank, describe(arrival) + " cannot be met: " + absent_}};
  }
  for (std::size_t other = 0; other < places_.size(); ++other) {
    if (!places_[other] || is_same_call(*places_[other], arrival)) continue;
    const std::string error = "worker " + std::to_string(rank) + " calls " + describe(arrival) +
                              " while worker " + std::to_string(other) + " waits in " +
                              describe(*places_[other]);
    std::vector<Release> releases = release_all(error);
    releases.push_back({rank, error});
    return releases;
  }
  places_[rank] = std::move(arrival);
  if (++waiting_ < places_.size()) return {};
  return release_all({}, reduce());
}

std::vector<WorkerMeeting::Release> WorkerMeeting::leave(std::size_t rank, const std::string& how) {
  if (std::exchange(places_[rank], std::nullopt)) --waiting_;
  if (absent_.empty()) absent_ = "worker " + std::to_string(rank) + " " + how;
  std::vector<Release> releases;
  for (std::size_t other = 0; other < places_.size(); ++other) {
    if (!places_[other]) continue;
    releases.push_back({other, describe(*places_[other]) + " cannot be met: " + absent_});
    places_[other].reset();
  }
  waiting_ = 0;
  return releases;
}

std::vector<WorkerMeeting::Release> WorkerMeeting::release_all(const std::string& error,
                                                               const std::vector<double>& values) {
  std::vector<Release> releases;
  for (std::size_t rank = 0; rank < places_.size(); ++rank) {
    if (!std::exchange(places_[rank], std::nullopt)) continue;
    releases.push_back({rank, error, values});
  }
  waiting_ = 0;
  return releases;
}

std::vector<double> WorkerMeeting::reduce() const {
  const TeamArrival& first = *places_.front();
  if (!first.is_reduction) return {};
  std::vector<double> values = first.values;
  for (std::size_t rank = 1; rank < places_.size(); ++rank) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = combine(first.reduction, values[i], places_[rank]->values[i]);
    }
  }
  if (first.reduction == Reduction::mean) {
    for (double& value : values) value /= static_cast<double>(places_.size());
  }
  return values;
}

}  // namespace tune::runtime
