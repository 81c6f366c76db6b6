#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include <tune/scheduler.hpp>

namespace tune {

/// What trials are to have; a trial that is left out keeps what it has. `base` is what each trial
/// that runs or waits for a slot had at its first start; one that has not started is not among
/// them.
///
/// It is called when the number of these trials, the nodes, or whether trials can be added, has
/// changed. Equal calls must give equal answers. A request that no node can hold ends the trial as
/// failed.
using ResourceAllocation = std::function<std::map<TrialId, Resources>(
    const SchedulerContext& context, const std::map<TrialId, ResourceAmounts>& base)>;

struct ResourceChangingOptions {
  /// Of the equal shares: a trial has at most its own request and so many times it in addition; -1:
  /// as much as there is.
  std::int64_t increase_by_times = -1;
  /// Default: equal shares.
  ResourceAllocation resources_allocation_function = {};
};

/// Makes a scheduler that decides as `base` does, and gives trials more resources as others end.
///
/// Ray Tune's ResourceChangingScheduler with DistributeResources. While another trial can be added
/// each has what the experiment asks for. After that all that run or wait for a slot have the same
/// multiple of their own request, the largest with which all of them fit on the nodes that are
/// there, each on one; so they grow as others end or pause, and shrink when one goes on or a node
/// is lost. A trial whose resources change is saved and started again with the new ones at its next
/// step boundary, so the trainable must have checkpoints. Each change is explained. Trials that ask
/// for labels or workers keep what they have, and while one of them is there nobody gets more.
///
/// Departs from Ray in that trials do not grow while others may still come, in whole multiples of
/// the request and not in single cores or devices, equal for all, and in that a share always fits
/// on a node. O(log n) a call; O(trials that run or wait * nodes * share) when their number or the
/// nodes have changed.
/// @throws std::invalid_argument without a base, and naming an option out of range.
[[nodiscard]] std::unique_ptr<TrialScheduler> resource_changing(
    std::unique_ptr<TrialScheduler> base, ResourceChangingOptions options = {});

}  // namespace tune
