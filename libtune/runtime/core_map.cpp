#include "runtime/core_map.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include <tune/error.hpp>

namespace tune::runtime {
namespace {

constexpr std::int64_t whole_core = 1000;

/// The place of `core` in `preferred`, or its size.
std::ptrdiff_t preference(int core, std::span<const int> preferred) {
  return std::find(preferred.begin(), preferred.end(), core) - preferred.begin();
}

}  // namespace

std::vector<int> CoreGrant::cores() const {
  std::vector<int> ids;
  std::transform(shares.begin(), shares.end(), std::back_inserter(ids),
                 [](const Share& share) { return share.core; });
  return ids;
}

CoreMap::CoreMap(const std::vector<int>& cores) {
  for (const int core : cores) {
    const bool is_new = free_.emplace(core, whole_core).second;
    TUNE_ASSERT(is_new);
  }
}

CoreGrant CoreMap::take(std::int64_t cpu, std::span<const int> preferred) {
  TUNE_ASSERT(cpu >= 0);
  const std::int64_t whole = cpu / whole_core;
  const std::int64_t fraction = cpu % whole_core;

  using Candidate = std::tuple<std::ptrdiff_t, std::int64_t, int>;  // preference, free, core
  std::vector<Candidate> candidates;
  for (const auto& [core, free] : free_) {
    candidates.emplace_back(preference(core, preferred), free, core);
  }
  std::sort(candidates.begin(), candidates.end());

  CoreGrant grant;
  for (const auto& [rank, free, core] : candidates) {
    if (std::ssize(grant.shares) == whole) break;
    if (free == whole_core) grant.shares.push_back({core, whole_core});
  }
  if (std::ssize(grant.shares) < whole) return {};
  std::sort(grant.shares.begin(), grant.shares.end(),
            [](const auto& left, const auto& right) { return left.core < right.core; });
  if (fraction > 0) {
    const std::vector<int> taken = grant.cores();
    const auto found =
        std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
          const auto& [rank, free, core] = candidate;
          return free >= fraction && std::find(taken.begin(), taken.end(), core) == taken.end();
        });
    if (found == candidates.end()) return {};
    grant.shares.push_back({std::get<int>(*found), fraction});
  }
  for (const CoreGrant::Share& share : grant.shares) free_[share.core] -= share.thousandths;
  return grant;
}

void CoreMap::give_back(const CoreGrant& grant) {
  for (const CoreGrant::Share& share : grant.shares) {
    const auto found = free_.find(share.core);
    TUNE_ASSERT(found != free_.end());
    TUNE_ASSERT(found->second + share.thousandths <= whole_core);
    found->second += share.thousandths;
  }
}

std::int64_t CoreMap::free() const {
  std::int64_t sum = 0;
  for (const auto& [core, free] : free_) sum += free;
  return sum;
}

std::int64_t CoreMap::free(int core) const {
  const auto found = free_.find(core);
  return found == free_.end() ? 0 : found->second;
}

}  // namespace tune::runtime
