#include <array>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/search_run.hpp"
#include "benchmarks/statistics.hpp"
#include "tables.hpp"

namespace tune::bench {
namespace {

/// Searches with some trials at a time beside those with one.
struct ParallelLine {
  const Problem& problem;
  int slots = 0;
  double sequential = 0;  ///< Medians.
  double parallel = 0;
  Interval loss;  ///< Of the difference of the medians; above 0 parallel search is worse.

  [[nodiscard]] std::string_view verdict() const {
    return loss.low > 0 ? "loses" : loss.high < 0 ? "gains" : "same";
  }
};

void print_line(const ParallelLine& line, const SearcherChoice& searcher,
                const BenchOptions& options) {
  if (options.prints_json) {
    const Json json = {{"table", "parallel"},
                       {"searcher", searcher.name},
                       {"options", searcher.options},
                       {"problem", line.problem.name},
                       {"evaluations", options.evaluations},
                       {"seeds", options.seeds},
                       {"first_seed", options.first_seed},
                       {"slots", line.slots},
                       {"sequential_median", line.sequential},
                       {"median", line.parallel},
                       {"optimum", line.problem.optimum},
                       {"loss", line.parallel - line.sequential},
                       {"interval", {line.loss.low, line.loss.high}},
                       {"verdict", line.verdict()}};
    std::cout << json.dump() << std::endl;
    return;
  }
  std::printf("%-16s %5d  %10s  %10s  %11s  %11s .. %-11s  %s\n", line.problem.name.c_str(),
              line.slots, short_text(line.sequential).c_str(), short_text(line.parallel).c_str(),
              short_text(line.parallel - line.sequential).c_str(),
              short_text(line.loss.low).c_str(), short_text(line.loss.high).c_str(),
              std::string(line.verdict()).c_str());
  std::fflush(stdout);
}

void print_problem(const Problem& problem, const SearcherChoice& searcher,
                   const BenchOptions& options) {
  const auto values_with = [&](int slots) {
    const SearchRun first{
        .seed = options.first_seed, .evaluations = options.evaluations, .slots = slots};
    return values_after(options.evaluations,
                        search_all(problem, searcher, first, options.seeds, options.jobs));
  };
  const std::vector<double> sequential = values_with(1);
  for (const int slots : options.slots) {
    const std::vector<double> parallel = values_with(slots);
    print_line({.problem = problem,
                .slots = slots,
                .sequential = quartiles(sequential).median,
                .parallel = quartiles(parallel).median,
                .loss = bootstrap_difference(sequential, parallel)},
               searcher, options);
  }
}

}  // namespace

void print_parallel(const BenchOptions& options) {
  for (const SearcherChoice& searcher : options.searchers) {
    if (!options.prints_json) {
      std::printf(
          "%s in parallel, %d seeds, after %d evaluations\n%-16s %5s  %10s  %10s  %11s  %s\n",
          searcher.label().c_str(), options.seeds, options.evaluations, "problem", "slots",
          "one by one", "parallel", "loss", "95 % of the loss");
    }
    for (const Problem& problem : options.problems) {
      try {
        print_problem(problem, searcher, options);
      } catch (const std::invalid_argument& error) {
        print_refusal(problem, searcher, error.what(), options.prints_json);
      }
    }
    if (!options.prints_json) std::puts("");
  }
}

}  // namespace tune::bench
