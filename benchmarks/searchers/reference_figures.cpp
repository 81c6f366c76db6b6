#include "benchmarks/reference_figures.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace tune::bench {
namespace {

constexpr std::array<const char*, 4> column_names = {"random", "TPE", "CMA-ES", "GP"};

// Optuna 5.0.0.dev, all samplers at their defaults, 20 to 30 seeds; GP 20 seeds at 50 evaluations,
// 12 on mixed_flat, 5 at 100. For each column median, lower and upper quartile, or a dash.
constexpr const char* figures_on_record = R"(
branin          50  1.164 0.804 2.022  0.507 0.422 0.587  0.901 0.569 2.275  0.398 0.398 0.398
branin         100  0.888 0.572 1.234  0.417 0.406 0.428  0.413 0.403 0.477  0.398 0.398 0.398
branin         200  0.543 0.450 0.639  0.401 0.400 0.403  0.398 0.398 0.398  -
hartmann6       50  -1.739 -2.074 -1.422  -2.992 -3.079 -2.828  -2.592 -2.780 -2.261  -3.318 -3.321 -3.122
hartmann6      100  -2.123 -2.373 -1.905  -3.228 -3.246 -3.146  -3.036 -3.105 -2.954  -3.322 -3.322 -3.322
hartmann6      200  -2.203 -2.397 -1.980  -3.292 -3.302 -3.281  -3.283 -3.302 -3.237  -
rosenbrock5     50  9260.9 4922.2 12800  466.3 233.4 944.8  364.0 149.5 827.5  742.5 401.2 1334.0
rosenbrock5    100  3190.1 2602.2 6047.5  89.9 57.5 187.0  106.7 55.1 162.1  119.7 82.3 143.9
rosenbrock5    200  2361.6 1379.3 2900.2  23.8 13.3 42.7  8.600 4.993 20.0  -
ackley10_shift  50  20.2 19.6 20.3  17.6 16.3 18.9  14.8 14.2 16.1  -
ackley10_shift 100  19.6 19.4 19.9  14.5 12.7 15.9  12.7 12.1 13.2  -
ackley10_shift 200  19.4 19.3 19.6  10.2 8.071 12.7  7.864 6.923 8.486  -
mixed_flat      50  0.456 0.349 0.534  0.137 0.090 0.207  0.190 0.159 0.234  0.031 0.017 0.064
mixed_flat     100  0.401 0.302 0.503  0.091 0.016 0.141  0.127 0.092 0.158  -
mixed_flat     200  0.324 0.278 0.389  0.052 0.007 0.125  0.070 0.028 0.122  -
cond_tree       50  0.071 0.064 0.097  0.059 0.052 0.062  0.071 0.064 0.092  0.078 0.065 0.091
cond_tree      100  0.067 0.060 0.073  0.051 0.050 0.052  0.067 0.060 0.073  0.064 0.056 0.072
cond_tree      200  0.057 0.051 0.063  0.050 0.050 0.050  0.056 0.050 0.063  -
)";

double last_digit_unit(const std::string& number) {
  const std::size_t dot = number.find('.');
  return dot == std::string::npos ? 1 : std::pow(10, -static_cast<double>(number.size() - dot - 1));
}

using Row = std::map<std::string, ReferenceFigure, std::less<>>;  // by column

std::map<std::pair<std::string, int>, Row> read_figures(const char* table) {
  std::map<std::pair<std::string, int>, Row> rows;
  std::istringstream words(table);
  std::string problem;
  int evaluations = 0;
  while (words >> problem >> evaluations) {
    Row& row = rows[{problem, evaluations}];
    for (const char* column : column_names) {
      std::string median;
      words >> median;
      if (median == "-") continue;
      ReferenceFigure figure{
          .column = column, .values = {}, .rounding = last_digit_unit(median) / 2};
      figure.values.median = std::stod(median);
      words >> figure.values.lower >> figure.values.upper;
      row[column] = figure;
    }
    if (!words) throw std::logic_error("reference figures of " + problem + " are incomplete");
  }
  return rows;
}

}  // namespace

std::string reference_column(std::string_view searcher) {
  if (searcher == "tpe") return "TPE";
  if (searcher == "cma_es") return "CMA-ES";
  if (searcher == "gp") return "GP";
  return searcher == "automatic" ? "best" : "random";
}

std::optional<ReferenceFigure> find_reference(std::string_view problem, int evaluations,
                                              std::string_view column) {
  static const auto rows = read_figures(figures_on_record);
  const auto row = rows.find({std::string(problem), evaluations});
  if (row == rows.end()) return std::nullopt;
  if (column != "best") {
    const auto figure = row->second.find(column);
    return figure == row->second.end() ? std::nullopt : std::optional(figure->second);
  }
  std::optional<ReferenceFigure> best;
  for (const auto& [name, figure] : row->second) {
    if (!best || figure.values.median < best->values.median) best = figure;
  }
  return best;
}

std::string_view to_string(Verdict verdict) {
  constexpr std::array<std::string_view, 3> names = {"better", "same", "worse"};
  return names.at(static_cast<std::size_t>(verdict));
}

Verdict compare(const Interval& ours, const ReferenceFigure& reference) {
  if (ours.high < reference.values.median - reference.rounding) return Verdict::better;
  if (ours.low > reference.values.median + reference.rounding) return Verdict::worse;
  return Verdict::same;
}

}  // namespace tune::bench
