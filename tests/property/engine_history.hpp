#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <tune/callback.hpp>
#include <tune/scheduler.hpp>

#include "support/trial_log.hpp"

namespace tune::test {

enum class SchedulerKind { fifo, asha, random };

/// What came of one random history of a whole experiment.
struct History {
  std::map<TrialId, TrialLog> trials;
  ExperimentEnd end;
  /// Something may end it before every trial has: a stop request, a time budget, a fault, a
  /// plateau.
  bool may_end_early = false;
  std::uint64_t expected_trials = 0;  ///< If it does not end early.
};

/// Runs one history, with everything in it drawn from `seed`: cluster, requests, faults, limits,
/// scheduler, the moments at which nodes come and go. Every event is checked.
/// `trace` gets a line an event and a command. @throws BrokenInvariant
[[nodiscard]] History run_history(std::uint64_t seed, SchedulerKind kind,
                                  const std::function<void(const std::string&)>& trace = {});

using SchedulerMaker = std::function<std::unique_ptr<TrialScheduler>()>;
/// The same with a scheduler of the caller's; what it needs, a metric or checkpoints, is there.
[[nodiscard]] History run_history(std::uint64_t seed, const SchedulerMaker& make,
                                  const std::function<void(const std::string&)>& trace = {});

/// A calm world with FIFO on `slots` slots, where trials fail and come back all the same.
[[nodiscard]] History run_calm(std::uint64_t seed, std::int64_t slots);

}  // namespace tune::test
