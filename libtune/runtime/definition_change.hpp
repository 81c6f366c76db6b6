#pragma once

#include <string>
#include <vector>

#include <tune/json.hpp>

namespace tune::runtime {

/// How the definition of an experiment differs from the one on record.
struct DefinitionChange {
  /// What makes it another experiment: each names the field, what was and what is.
  std::vector<std::string> refused;
  /// The same for parameters of the search space.
  std::vector<std::string> space;
  /// What gives it more, or less, to do: "num_samples 10 -> 15".
  std::vector<std::string> extended;
  bool has_other_bounds = false;  ///< A bound of a stop criterion is among them,
  bool has_other_budget = false;  ///< or the time budget.
};

/// Compares two definitions as experiment.json holds them. Of functions only their presence can be
/// compared. `seed_is_given`: the new one's seed counts; else it goes by the one on record.
[[nodiscard]] DefinitionChange compare_definitions(const Json& recorded, const Json& now,
                                                   bool seed_is_given);

}  // namespace tune::runtime
