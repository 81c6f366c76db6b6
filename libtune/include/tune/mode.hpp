#pragma once

#include <string_view>

namespace tune {

/// Whether a metric is to be made small or large.
enum class Mode { min, max };

/// "min" or "max".
[[nodiscard]] std::string_view to_string(Mode mode);

/// True if `a` is strictly better than `b` for `mode`.
///
/// The one place that ranks values that are not finite: any finite value is better than either
/// infinity, and either infinity is better than NaN. Between the infinities the natural order of
/// `mode` holds; NaN equals NaN. So this is a strict weak order over all doubles.
[[nodiscard]] bool is_better(Mode mode, double a, double b);

/// The value that no other ranks below: NaN.
[[nodiscard]] double worst_value();

}  // namespace tune
