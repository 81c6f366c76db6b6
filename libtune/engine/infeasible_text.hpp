#pragma once

#include <string>
#include <vector>

#include <tune/resources.hpp>

#include "room.hpp"

namespace tune::engine {

struct OfferedNode {
  Room room;
  Labels labels;
};

/// What of a request is too much for these nodes, which cannot hold it even when they are empty:
/// the first that is found of a missing label, an amount that is too large, and a gang that does
/// not fit as a whole.
[[nodiscard]] std::string infeasible_text(const ResourceRequest& request,
                                          const std::vector<OfferedNode>& nodes);

}  // namespace tune::engine
