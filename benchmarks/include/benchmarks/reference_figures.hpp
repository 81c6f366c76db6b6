#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "benchmarks/statistics.hpp"

namespace tune::bench {

/// A median with its quartiles that another framework had, as it is on record.
struct ReferenceFigure {
  std::string column;  ///< "random", "TPE", "CMA-ES" or "GP"
  Quartiles values;
  double rounding = 0;  ///< Half a unit of the median's last digit on record.
};

/// Which column a searcher is held against: its own model, the best of all for `automatic`, random
/// search for what has none.
[[nodiscard]] std::string reference_column(std::string_view searcher);

/// What is on record for a problem after so many evaluations; empty if nothing is. The column
/// "best" is the one with the least median.
[[nodiscard]] std::optional<ReferenceFigure> find_reference(std::string_view problem,
                                                            int evaluations,
                                                            std::string_view column);

enum class Verdict { better, same, worse };
[[nodiscard]] std::string_view to_string(Verdict verdict);
/// "same" where the reference's median, as exactly as it is known, lies in the interval of ours.
[[nodiscard]] Verdict compare(const Interval& ours, const ReferenceFigure& reference);

}  // namespace tune::bench
