#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tune::core {

/// Which of `names` somebody who wrote `name` may have meant: the one that differs in the fewest
/// letters, if those are at most a third of them; else the only one that has `name` in it. Empty if
/// there is none. Of several that are equally close, the first.
[[nodiscard]] std::string closest_name(std::string_view name,
                                       const std::vector<std::string>& names);

}  // namespace tune::core
