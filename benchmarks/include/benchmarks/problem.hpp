#pragma once

#include <functional>
#include <string>
#include <vector>

#include <tune/config.hpp>
#include <tune/json.hpp>
#include <tune/search_space.hpp>

namespace tune::bench {

/// A function to be minimised over a search space whose least value is known.
struct Problem {
  std::string name;
  std::string about;  ///< One line: what is hard about it.
  SearchSpace space;
  /// The value without noise; NaN where the function has none.
  std::function<double(const Config&)> value;
  double optimum = 0;
  Json optimum_at = Json::object();  ///< A configuration that has it.
  /// Standard deviation of the normal noise that a searcher sees.
  double noise = 0;
  /// Where a trial fails instead of returning a value; none: nowhere.
  std::function<bool(const Config&)> fails = {};
};

/// The six functions that have reference figures.
[[nodiscard]] std::vector<Problem> reference_problems();
/// Others, of other kinds: what a searcher gains on the six it has to show here.
[[nodiscard]] std::vector<Problem> heldout_problems();
/// Both.
[[nodiscard]] std::vector<Problem> all_problems();

}  // namespace tune::bench
