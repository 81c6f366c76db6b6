#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <tune/ids.hpp>
#include <tune/resources.hpp>

namespace tune::schedulers {

/// `times` that much of everything. Not `is_grantable()` where that is more than one GPU and no
/// whole number of them.
[[nodiscard]] ResourceAmounts multiplied(const ResourceAmounts& amounts, std::int64_t times);
[[nodiscard]] bool is_grantable(const ResourceAmounts& amounts);
/// As a request. Exact, since the engine counts in thousandths too.
[[nodiscard]] Resources request_for(const ResourceAmounts& amounts);

/// Whether a node could hold it when empty.
[[nodiscard]] bool fits_somewhere(const std::map<NodeId, ResourceAmounts>& nodes,
                                  const ResourceAmounts& request);

/// The largest number of times, at least 1 and at most `most`, that every one of `requests` can be
/// had of at once on these nodes, each trial on one of them: the equal share of all.
///
/// Trials are put on the first node with room, in their order, as the engine does with those that
/// start. What is left over by whole shares stays free. O(times * requests * nodes).
[[nodiscard]] std::int64_t equal_share(const std::map<NodeId, ResourceAmounts>& nodes,
                                       const std::vector<ResourceAmounts>& requests,
                                       std::int64_t most);

}  // namespace tune::schedulers
