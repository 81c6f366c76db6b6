#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <tune/ids.hpp>
#include <tune/resources.hpp>

#include "room.hpp"

namespace tune::engine {

/// A node on which parts of a gang may lie.
struct Site {
  NodeId node;
  const Labels* labels = nullptr;  // the node's
  Room room;
  std::size_t parts = 0;  // of the gang, planned to lie here
};

/// Where a part of a gang goes.
struct PlannedPart {
  std::size_t site = 0;  // an index
  std::vector<int> gpu_ids;
};

/// Where the trial itself (first) and its workers go; empty if that does not fit.
///
/// `pack` takes the site that holds the whole gang and fits it best, else again and again the one
/// that holds most of what is left. `spread` puts each part on the site with the fewest. Where that
/// fails, and for `strict_pack` too, other orders are tried, a bounded number of them; so on few
/// sites a gang finds its place if there is one. `strict_spread` always finds it (a matching).
[[nodiscard]] std::optional<std::vector<PlannedPart>> plan_gang(const ResourceRequest& request,
                                                                std::vector<Site> sites,
                                                                const ResourceAmounts& largest);

}  // namespace tune::engine
