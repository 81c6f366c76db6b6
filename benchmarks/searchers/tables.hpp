#pragma once

#include <string>

#include "benchmarks/options.hpp"

namespace tune::bench {

/// Best values after 50, 100 and 200 evaluations, beside those on record.
void print_quality(const BenchOptions& options);
/// What several trials at a time lose against one.
void print_parallel(const BenchOptions& options);
/// Time and memory of a suggestion with ever more observations.
void print_cost(const BenchOptions& options);
/// The problems and the registered searchers.
void print_list(const BenchOptions& options);
/// Random points of each problem and their values, a JSON object a line: for
/// benchmarks/peers/optuna_search.py, which has the same functions a second time.
void print_values(const BenchOptions& options);

/// Says that a searcher does not take a problem's space, and why.
void print_refusal(const Problem& problem, const SearcherChoice& searcher,
                   const std::string& reason, bool prints_json);

/// Five significant digits, in at most eleven characters.
[[nodiscard]] std::string short_text(double value);

}  // namespace tune::bench
