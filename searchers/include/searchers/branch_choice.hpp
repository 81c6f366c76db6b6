#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <tune/random.hpp>

#include "searchers/encoded_space.hpp"
#include "searchers/ranked_points.hpp"

namespace tune::searchers {

/// (a categorical dimension, an option) that a suggestion shall have.
using ForcedKeys = std::vector<std::pair<std::size_t, std::size_t>>;

/// Decides which branches a suggestion looks into, so that a search does not settle in the branch
/// that was first to give good values.
///
/// In half of the cases where there are branches, in 1/4 divided by the number of choices where
/// there are choices alone, a categorical dimension is drawn and one of its options taken;
/// elsewhere nothing is forced. The options are ordered by what they promise: the best loss so far,
/// less half of what it has gained since half of the option's trials. The k-th of that order is due
/// 1/k as many trials as the first, and the one that lacks most is taken. Then it goes on, mostly,
/// to another dimension below or beside it, while the trials that are left are enough to tell.
[[nodiscard]] ForcedKeys choose_branches(const EncodedSpace& space, const ParzenColumns& columns,
                                         const RankedPoints& points, const Point& fixed,
                                         Random& random);

/// True if the point of this row has the keys.
[[nodiscard]] bool has_keys(const ParzenColumns& columns, std::span<const double> row,
                            const ForcedKeys& keys);

}  // namespace tune::searchers
