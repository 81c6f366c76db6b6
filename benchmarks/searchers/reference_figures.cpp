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

// Optuna 5.0.0, all samplers at their defaults, 30 seeds: benchmarks/peers/optuna_search.py.
constexpr const char* heldout_figures_on_record = R"(
levy4             50  3.500 2.495 6.002  0.8271 0.5045 1.083  0.4590 0.3100 0.7663  -
levy4            100  2.694 2.225 3.672  0.1680 0.1156 0.2638  0.1870 0.1075 0.2897  -
levy4            200  2.499 1.867 3.214  0.09525 0.05751 0.1062  0.01107 0.003031 0.01777  -
griewank8_shift   50  89.96 70.13 112.3  18.31 15.08 27.00  17.08 14.43 19.06  -
griewank8_shift  100  73.38 61.44 83.13  6.350 4.367 9.409  7.579 5.762 11.32  -
griewank8_shift  200  65.20 50.56 73.49  2.293 1.843 2.688  2.079 1.706 2.561  -
styblinski_tang5  50  -132.4 -139.0 -128.6  -155.5 -165.5 -138.8  -137.3 -144.3 -125.9  -
styblinski_tang5 100  -141.8 -149.7 -133.6  -164.7 -177.2 -150.0  -155.5 -162.3 -144.0  -
styblinski_tang5 200  -148.7 -156.3 -141.1  -166.9 -180.9 -152.8  -179.4 -181.6 -166.2  -
int_sphere6       50  1842 1323 2422  139.5 115.8 222.2  431.5 277.8 608.2  -
int_sphere6      100  1222 858.0 1676  50.50 28.75 62.50  143.5 102.0 212.0  -
int_sphere6      200  957.0 754.2 1287  10.50 5.250 15.00  12.50 8.000 17.75  -
steps5            50  171.5 118.8 236.5  18.50 13.25 22.00  38.00 23.75 56.50  -
steps5           100  114.0 87.25 153.2  3.000 2.000 4.750  10.00 7.000 13.00  -
steps5           200  103.5 70.75 120.0  1.000 1.000 2.000  1.000 0 1.000  -
log_valley3       50  0.5601 0.3310 1.555  0.2076 0.1581 0.6150  0.1832 0.08913 0.2886  -
log_valley3      100  0.4789 0.2552 0.7111  0.08721 0.03968 0.1373  0.06614 0.03746 0.09252  -
log_valley3      200  0.2781 0.1603 0.3887  0.02599 0.01968 0.04230  0.01571 0.006326 0.03073  -
categories8       50  4.539 3.886 4.930  3.364 3.099 3.762  4.565 4.199 4.893  -
categories8      100  3.944 3.570 4.263  2.993 2.455 3.150  4.134 3.889 4.420  -
categories8      200  3.768 3.467 4.059  2.331 2.084 2.786  3.732 3.521 4.134  -
noisy_hartmann3   50  -3.281 -3.556 -2.951  -3.694 -3.749 -3.578  -3.671 -3.738 -3.543  -
noisy_hartmann3  100  -3.548 -3.633 -3.393  -3.790 -3.823 -3.728  -3.724 -3.761 -3.672  -
noisy_hartmann3  200  -3.665 -3.720 -3.571  -3.791 -3.822 -3.752  -3.795 -3.827 -3.722  -
deep_tree         50  0.07342 0.04836 0.1007  0.05933 0.02185 0.08022  0.07786 0.05522 0.1028  -
deep_tree        100  0.04787 0.03736 0.08158  0.01103 0.003824 0.08000  0.05112 0.03812 0.08550  -
deep_tree        200  0.04288 0.02372 0.05271  0.0009738 0.0002217 0.08000  0.04305 0.03666 0.05932  -
twin_tree         50  0.07693 0.06589 0.08468  0.06162 0.05320 0.06737  0.07610 0.06717 0.08468  -
twin_tree        100  0.06615 0.06154 0.07269  0.06039 0.05086 0.06169  0.06615 0.06154 0.07269  -
twin_tree        200  0.06227 0.05520 0.06762  0.06000 0.05008 0.06017  0.06227 0.05520 0.06762  -
failing_camel4    50  -0.005666 -0.5458 0.3635  -0.7519 -0.9012 -0.5822  -0.7582 -0.8091 -0.5747  -
failing_camel4   100  -0.5069 -0.7900 -0.1512  -0.9196 -0.9649 -0.7938  -0.8702 -0.9418 -0.7952  -
failing_camel4   200  -0.6867 -0.8606 -0.5195  -0.9802 -1.005 -0.9491  -0.9870 -1.009 -0.9497  -
sparse25          50  0.1703 0.1284 0.2824  0.04096 0.02706 0.05312  0.05246 0.02814 0.07834  -
sparse25         100  0.1273 0.09543 0.1647  0.01437 0.01009 0.01970  0.02409 0.01195 0.03399  -
sparse25         200  0.08576 0.06827 0.1240  0.003688 0.002019 0.004745  0.01020 0.007136 0.01346  -
)";

using Row = std::map<std::string, ReferenceFigure, std::less<>>;  // by column

using Table = std::map<std::pair<std::string, int>, Row>;  // by problem and evaluations

void read_figures(const char* text, Table& rows) {
  std::istringstream words(text);
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
}

Table all_figures() {
  Table rows;
  read_figures(figures_on_record, rows);
  read_figures(heldout_figures_on_record, rows);
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
  static const Table rows = all_figures();
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
