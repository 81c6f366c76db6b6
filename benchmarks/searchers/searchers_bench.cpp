// How good are the searchers, what do they lose in parallel, and what does a suggestion cost?
// docs/search_quality.md says how the figures are made.
#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tune/random.hpp>
#include <tune/registry.hpp>
#include <tune/searchers/builtin.hpp>
#include <tune/searchers/random.hpp>

#include "benchmarks/options.hpp"
#include "engine/suggestion_source.hpp"
#include "tables.hpp"

namespace tune::bench {

std::string short_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return text;
}

void print_refusal(const Problem& problem, const SearcherChoice& searcher,
                   const std::string& reason, bool prints_json) {
  if (prints_json) {
    const Json json = {{"searcher", searcher.name},
                       {"options", searcher.options},
                       {"problem", problem.name},
                       {"refused", reason}};
    std::cout << json.dump() << std::endl;
  } else {
    std::printf("%-16s refused: %s\n", problem.name.c_str(), reason.c_str());
    std::fflush(stdout);
  }
}

void print_list(const BenchOptions& options) {
  for (const Problem& problem : options.problems) {
    std::printf("%-16s %s; least value %.10g\n", problem.name.c_str(), problem.about.c_str(),
                problem.optimum);
  }
  for (const std::string& name : searcher_names()) std::printf("searcher %s\n", name.c_str());
}

void print_values(const BenchOptions& options) {
  for (const Problem& problem : options.problems) {
    engine::SuggestionSource source(problem.space,
                                    {.seed = options.first_seed, .num_samples = options.values},
                                    random_search());
    for (int i = 0; i < options.values; ++i) {
      const Suggestion suggestion = source.suggest(TrialId(static_cast<std::uint64_t>(i)));
      const auto* config = std::get_if<Config>(&suggestion);
      if (config == nullptr) break;
      const bool fails = problem.fails && problem.fails(*config);
      const Json line = {{"problem", problem.name},
                         {"config", config->json()},
                         {"fails", fails},
                         {"value", fails ? Json() : Json(problem.value(*config))}};
      std::cout << line.dump() << '\n';
    }
  }
}

namespace {

void print_quick(BenchOptions options) {
  options.seeds = 5;
  options.evaluations = 50;
  options.slots = {8};
  print_quality(options);
  print_parallel(options);
  print_cost(options);
}

void run_bench(const BenchOptions& options) {
  if (options.asks_help) {
    std::cout << bench_usage;
    return;
  }
  register_builtin_searchers();
  for (const SearcherChoice& searcher : options.searchers) (void)searcher.make();
  if (options.asks_list) {
    print_list(options);
  } else if (options.values > 0) {
    print_values(options);
  } else if (options.is_quick) {
    print_quick(options);
  } else {
    if (options.asks_cost) print_cost(options);
    if (!options.slots.empty()) print_parallel(options);
    if (options.asks_quality) print_quality(options);
  }
}

}  // namespace
}  // namespace tune::bench

int main(int argc, char** argv) {
  try {
    const std::vector<std::string_view> arguments(argv + 1, argv + argc);
    tune::bench::run_bench(tune::bench::parse_options(arguments));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "searchers_bench: " << error.what() << '\n';
    return 1;
  }
}
