#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tune/scheduler.hpp>

#include "rung_model.hpp"

namespace tune::test {

using Faults = std::vector<std::string>;

/// Wraps the scheduler that `make` makes, and notes in `faults` where it breaks a rule:
/// - beside it runs one that is restored from its state now and then (drawn from `seed`), and must
///   give the same answers with the same requests;
/// - its rungs, if it has any, are followed by a RungModel;
/// - a trial at or beyond its max_t is stopped.
/// `faults` outlives it.
[[nodiscard]] std::unique_ptr<TrialScheduler> watched(
    const std::function<std::unique_ptr<TrialScheduler>()>& make, RungRule rungs,
    std::uint64_t seed, Faults& faults);

}  // namespace tune::test
