#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/problem.hpp"
#include "benchmarks/search_run.hpp"

namespace tune::bench {

/// What the command line of searchers_bench asks for.
struct BenchOptions {
  std::vector<SearcherChoice> searchers;
  std::vector<Problem> problems;
  int seeds = 50;
  std::uint64_t first_seed = 0;
  int evaluations = 200;
  int jobs = 2;
  std::vector<int> slots;  ///< Of the table of parallel search; empty: none.
  std::string against;     ///< Reference column; empty: the searcher's own.
  bool asks_quality = true;
  bool asks_cost = false;
  bool asks_list = false;
  bool asks_help = false;
  int values = 0;  ///< So many random points of each problem, with their values.
  bool is_quick = false;
  bool prints_json = false;
};

inline constexpr std::string_view bench_usage =
    "searchers_bench [--searcher NAME[=OPTIONS]]... [--problem NAME]... [--set SET]\n"
    "  --searcher NAME[=OPTIONS]  random, tpe={\"gamma\": 0.1}, ...; again for several (random)\n"
    "  --problem NAME             only this one; again for several\n"
    "  --set SET                  reference (the default), heldout or all\n"
    "  --seeds N                  searches of each problem (50)\n"
    "  --first-seed N             their seeds are N, N + 1, ... (0)\n"
    "  --evaluations N            of each search (200)\n"
    "  --jobs N                   searches at a time (2)\n"
    "  --against COLUMN           random, TPE, CMA-ES, GP or best (what belongs to the searcher)\n"
    "  --parallel K[,K]...        instead: what K trials at a time lose against one\n"
    "  --cost                     instead: time and memory of a suggestion\n"
    "  --values N                 instead: N random points of each problem with their values\n"
    "  --list                     instead: the problems and the searchers\n"
    "  --json                     a JSON object a line\n"
    "  --quick                    a little of everything: that it runs\n";

/// @throws std::invalid_argument naming the option, its value and what is allowed.
[[nodiscard]] BenchOptions parse_options(std::span<const std::string_view> arguments);

}  // namespace tune::bench
