#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tune/random.hpp>

namespace tune::searchers {

/// One coordinate of a Parzen mixture.
struct ParzenColumn {
  /// How many values it has if they are told apart, in order or not; 0: a point of [0, 1].
  std::size_t count = 0;
  bool is_categorical = false;
  /// Of a column in order: the bounds of its cells in [0, 1], `count` + 1 of them, and their
  /// centres.
  std::vector<double> edges = {};
  std::vector<double> centres = {};

  /// The number of the cell that holds `place`. @pre there are cells
  [[nodiscard]] std::size_t cell(double place) const;
};

/// A mixture of product kernels over rows of numbers, one kernel a row, and one that is uniform:
/// the density that a tree-structured Parzen estimator makes of a group of trials.
///
/// A row has a number for each column: a place in [0, 1], an option's number if categorical, NaN
/// where the column does not exist for it. A kernel is uniform in the columns that its row does not
/// have, and a point is judged by the columns that it has. All densities are relative to the
/// uniform one.
///
/// - Places: a normal distribution cut off at 0 and 1. Its standard deviation is the larger of the
///   distances to the two neighbours (Bergstra et al. 2011, section 4.2), at least `least_width`
///   and at most 1.
/// - Cells: the integral of such a kernel over the cell. All kernels have one standard deviation,
///   the mean by the rule above and not below half the mean width of a cell.
/// - Options: a kernel's own has 1 + 1/n times the base share, all others 1/n, n the kernels.
///
/// Building costs O(rows * columns), a density too.
class ParzenMixture {
 public:
  /// `columns` must outlive this.
  explicit ParzenMixture(const std::vector<ParzenColumn>& columns) : columns_(&columns) {}

  /// `rows` is row after row; `weights` one a row, above 0. No kernel is narrower than
  /// `least_width`.
  /// @pre `least_width >= 0.002`: nearer neighbours are not told apart
  void build(std::span<const double> rows, std::span<const double> weights, double prior_weight,
             double least_width);

  [[nodiscard]] std::size_t size() const { return log_weights_.size(); }

  /// The logarithm of the density at each point of `points`, point after point.
  [[nodiscard]] std::vector<double> log_densities(std::span<const double> points) const;

  /// Draws a kernel, which may be the uniform one, size(): in proportion to its weight and its
  /// density at `known`, a point that has the columns that are decided.
  [[nodiscard]] std::size_t draw_kernel(std::span<const double> known, Random& random) const;
  /// Draws column `c` from kernel `kernel`.
  [[nodiscard]] double draw(std::size_t kernel, std::size_t c, Random& random) const;

 private:
  void find_widths(std::size_t c, double least_width);
  void find_constants(std::size_t c);
  void find_cells(std::size_t c);
  void make_table(std::size_t c, double width);
  // Adds the logarithms of the kernels' densities in all columns that `point` has.
  void add_columns(const double* point, std::size_t first, std::size_t last, double* sums) const;
  [[nodiscard]] double share(std::size_t c, bool is_own) const;

  const std::vector<ParzenColumn>* columns_;
  std::size_t size_ = 0;
  double log_prior_ = 0;
  std::vector<double> log_weights_;
  // Column after column, a number a row.
  std::vector<double> places_;        // 0 where the row has none
  std::vector<double> widths_;        // standard deviations; infinite where the row has none
  std::vector<double> steepness_;     // 1 / (2 width^2)
  std::vector<double> constants_;     // the logarithm of what makes the kernel's integral 1
  std::vector<std::uint32_t> cells_;  // of those told apart; `count` where the row has none
  // A column's logarithms of a kernel's share of a cell: [the cell][the kernel's cell].
  std::vector<std::vector<double>> tables_;
};

}  // namespace tune::searchers
