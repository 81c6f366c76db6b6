#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <tune/mode.hpp>
#include <tune/result.hpp>
#include <tune/result_grid.hpp>

namespace tune::report {

/// The value of `metric` that counts in a trial with these results; empty if none of them has it as
/// a number.
[[nodiscard]] std::optional<double> value_in_scope(const std::vector<Result>& history,
                                                   std::string_view metric, Mode mode, Scope scope);

}  // namespace tune::report
