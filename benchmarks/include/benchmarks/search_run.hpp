#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tune/json.hpp>
#include <tune/searcher.hpp>

#include "benchmarks/problem.hpp"

namespace tune::bench {

/// A searcher by its registered name, with options.
struct SearcherChoice {
  std::string name;
  Json options = Json::object();

  /// `tpe` or `tpe={"gamma":0.1}`, as it is written on the command line.
  [[nodiscard]] std::string label() const;
  [[nodiscard]] std::unique_ptr<Searcher> make() const;
};

struct SearchRun {
  std::uint64_t seed = 0;
  int evaluations = 200;
  /// Trials that run at once. As soon as one of them ends, all equally likely, the next is asked
  /// for; with 1 each suggestion knows all results.
  int slots = 1;
};

/// Searches once. After each evaluation that came in: the noiseless value of the configuration that
/// looked best so far; infinity before the first that has one. Shorter than `evaluations` if the
/// searcher ran dry.
/// @throws std::invalid_argument if the searcher does not support the space.
[[nodiscard]] std::vector<double> best_values(const Problem& problem,
                                              const SearcherChoice& searcher, const SearchRun& run);

/// As many searches as `seeds`, from that of `first` on, `jobs` at a time. Each has as many values
/// as evaluations: who runs dry keeps its best.
/// @throws std::runtime_error if a searcher suggests nothing at all; else as best_values().
[[nodiscard]] std::vector<std::vector<double>> search_all(const Problem& problem,
                                                          const SearcherChoice& searcher,
                                                          const SearchRun& first, int seeds,
                                                          int jobs);
/// What each of these searches had after so many evaluations.
[[nodiscard]] std::vector<double> values_after(int evaluations,
                                               const std::vector<std::vector<double>>& searches);

/// Calls `work(0)` to `work(count - 1)`, `jobs` at a time. The first exception is thrown again.
void run_all(int count, int jobs, const std::function<void(int)>& work);

}  // namespace tune::bench
