#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "benchmarks/reference_figures.hpp"
#include "benchmarks/search_run.hpp"
#include "benchmarks/statistics.hpp"
#include "tables.hpp"

namespace tune::bench {
namespace {

/// A line of the table.
struct QualityLine {
  std::string problem;
  int evaluations = 0;
  Quartiles values;
  Interval interval;
  std::optional<ReferenceFigure> reference;
  std::optional<Verdict> verdict;
};

std::vector<int> milestones(int evaluations) {
  std::vector<int> counts;
  for (const int count : {50, 100, 200}) {
    if (count < evaluations) counts.push_back(count);
  }
  counts.push_back(evaluations);
  return counts;
}

QualityLine line_of(const std::string& problem, int evaluations, const std::vector<double>& values,
                    const std::string& column) {
  QualityLine line{.problem = problem,
                   .evaluations = evaluations,
                   .values = quartiles(values),
                   .interval = bootstrap_median(values),
                   .reference = find_reference(problem, evaluations, column),
                   .verdict = {}};
  if (line.reference) line.verdict = compare(line.interval, *line.reference);
  return line;
}

void print_json(const QualityLine& line, const SearcherChoice& searcher,
                const BenchOptions& options) {
  Json json = {{"table", "quality"},
               {"searcher", searcher.name},
               {"options", searcher.options},
               {"problem", line.problem},
               {"evaluations", line.evaluations},
               {"seeds", options.seeds},
               {"first_seed", options.first_seed},
               {"median", line.values.median},
               {"lower_quartile", line.values.lower},
               {"upper_quartile", line.values.upper},
               {"interval", {line.interval.low, line.interval.high}},
               {"reference", nullptr},
               {"verdict", nullptr}};
  if (line.reference) {
    json["reference"] = {{"column", line.reference->column},
                         {"median", line.reference->values.median},
                         {"lower_quartile", line.reference->values.lower},
                         {"upper_quartile", line.reference->values.upper}};
    json["verdict"] = to_string(*line.verdict);
  }
  std::cout << json.dump() << std::endl;
}

void print_text(const QualityLine& line) {
  std::printf("%-16s %5d  %10s [%10s, %10s]  %10s .. %-10s", line.problem.c_str(), line.evaluations,
              short_text(line.values.median).c_str(), short_text(line.values.lower).c_str(),
              short_text(line.values.upper).c_str(), short_text(line.interval.low).c_str(),
              short_text(line.interval.high).c_str());
  if (line.reference) {
    const Quartiles& theirs = line.reference->values;
    std::printf("  %-6s %10s [%10s, %10s]  %s", line.reference->column.c_str(),
                short_text(theirs.median).c_str(), short_text(theirs.lower).c_str(),
                short_text(theirs.upper).c_str(), std::string(to_string(*line.verdict)).c_str());
  }
  std::puts("");
  std::fflush(stdout);
}

}  // namespace

void print_quality(const BenchOptions& options) {
  const SearchRun first{.seed = options.first_seed, .evaluations = options.evaluations};
  for (const SearcherChoice& searcher : options.searchers) {
    const std::string column =
        options.against.empty() ? reference_column(searcher.name) : options.against;
    if (!options.prints_json) {
      std::printf("%s, %d seeds, against %s\n%-16s %5s  %10s [%10s, %10s]  %24s  %s\n",
                  searcher.label().c_str(), options.seeds, column.c_str(), "problem", "n", "median",
                  "quartile", "quartile", "95 % of the median", "reference, verdict");
    }
    std::map<Verdict, int> verdicts;
    for (const Problem& problem : options.problems) {
      std::vector<std::vector<double>> searches;
      try {
        searches = search_all(problem, searcher, first, options.seeds, options.jobs);
      } catch (const std::invalid_argument& error) {
        print_refusal(problem, searcher, error.what(), options.prints_json);
        continue;
      }
      for (const int count : milestones(options.evaluations)) {
        const std::vector<double> values = values_after(count, searches);
        const QualityLine line = line_of(problem.name, count, values, column);
        if (line.verdict) ++verdicts[*line.verdict];
        if (options.prints_json) {
          print_json(line, searcher, options);
        } else {
          print_text(line);
        }
      }
    }
    if (!options.prints_json) {
      std::printf("better %d, same %d, worse %d\n\n", verdicts[Verdict::better],
                  verdicts[Verdict::same], verdicts[Verdict::worse]);
      std::fflush(stdout);
    }
  }
}

}  // namespace tune::bench
