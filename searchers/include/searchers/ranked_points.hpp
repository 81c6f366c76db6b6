#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "searchers/encoded_space.hpp"
#include "searchers/observations.hpp"
#include "searchers/parzen.hpp"

namespace tune::searchers {

/// How good an observation is, the least first.
struct Rank {
  /// 0: its loss counts. Above: worse than all of the tiers before.
  int tier = 0;
  double loss = std::numeric_limits<double>::infinity();

  [[nodiscard]] bool operator<(const Rank& other) const {
    return tier != other.tier ? tier < other.tier : loss < other.loss;
  }
};

/// The rank of a trial that has ended: first those that completed, then those stopped early, the
/// farther ones before, last those without a finite loss.
[[nodiscard]] Rank final_rank(const Observation& observation);

/// The columns of a space: one for parameters of the same name and domain in exclusive branches, so
/// that what is learnt of it in one branch counts in the other.
class ParzenColumns {
 public:
  ParzenColumns() = default;
  explicit ParzenColumns(const EncodedSpace& space);

  [[nodiscard]] const std::vector<ParzenColumn>& all() const { return columns_; }
  [[nodiscard]] std::size_t size() const { return columns_.size(); }
  /// The column of dimension `d`.
  [[nodiscard]] std::size_t of(std::size_t d) const { return of_dimension_[d]; }
  /// Writes the row of `point`.
  void write(const Point& point, std::span<double> row) const;

 private:
  std::vector<ParzenColumn> columns_;
  std::vector<std::size_t> of_dimension_;
};

/// The points of an experiment as rows of columns, kept in the order of their ranks.
class RankedPoints {
 public:
  /// `columns` must outlive this.
  explicit RankedPoints(const ParzenColumns& columns) : columns_(&columns) {}

  /// Takes point `number`, at most size(), with a rank; none while nothing is known of it.
  /// O(log n), and a move of what comes after it.
  void set(std::size_t number, const Point& point, std::optional<Rank> rank);

  [[nodiscard]] std::size_t size() const { return ranks_.size(); }
  [[nodiscard]] std::span<const double> row(std::size_t number) const {
    return std::span(rows_).subspan(number * columns_->size(), columns_->size());
  }
  [[nodiscard]] const std::optional<Rank>& rank(std::size_t number) const { return ranks_[number]; }
  /// The numbers of those with a rank, the best first, equal ones in the order of their numbers.
  [[nodiscard]] const std::vector<std::size_t>& order() const { return order_; }
  /// The numbers of those without, in order.
  [[nodiscard]] const std::vector<std::size_t>& unranked() const { return unranked_; }

 private:
  [[nodiscard]] std::vector<std::size_t>::iterator place_of(std::size_t number);

  const ParzenColumns* columns_;
  std::vector<double> rows_;
  std::vector<std::optional<Rank>> ranks_;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> unranked_;
};

}  // namespace tune::searchers
