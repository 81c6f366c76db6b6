#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <tune/json.hpp>

#include "searchers/gaussian_process.hpp"
#include "searchers/gp_fit.hpp"
#include "searchers/loss_warp.hpp"
#include "searchers/observations.hpp"

namespace tune::searchers {

/// A Gaussian process over the trials that have ended: which of them it knows, by which values, and
/// when it is fitted anew.
class GpModel {
 public:
  struct Limits {
    std::size_t startup = 1;  ///< Finite losses before there is a model.
    std::size_t largest = 1;  ///< Observations in the process.
  };

  GpModel() = default;
  /// `space` and `observations` must outlive this.
  GpModel(const EncodedSpace& space, const Observations& observations,
          std::optional<double> fixed_noise, Limits limits);

  /// Takes in what has ended since, by a row each or by a fit where one is due. To be called when a
  /// trial is asked for or added; the second of both finds nothing to do.
  void update();
  /// Empty while there are too few losses, or where the matrix could not be factored.
  [[nodiscard]] GaussianProcess* process() { return is_usable_ ? &process_ : nullptr; }
  /// True where the matrix of the last fit could not be factored, whatever noise was added.
  [[nodiscard]] bool has_failed() const { return parameters_ && !is_usable_; }
  /// The numbers of the observations that are rows of the process.
  [[nodiscard]] const std::vector<std::size_t>& rows() const { return rows_; }

  [[nodiscard]] Json save() const;
  /// After the observations have been restored.
  void restore(const Json& state);

 private:
  [[nodiscard]] std::vector<std::size_t> unknown() const;
  [[nodiscard]] double loss_of(const Observation& observation) const;
  [[nodiscard]] std::vector<std::size_t> chosen() const;
  [[nodiscard]] std::vector<std::size_t> for_fit() const;
  [[nodiscard]] Eigen::MatrixXd inputs(const std::vector<std::size_t>& numbers) const;
  [[nodiscard]] Eigen::VectorXd scaled(const std::vector<std::size_t>& numbers) const;
  void set_floor();
  void refit();
  void append(std::size_t number, double y);

  const EncodedSpace* space_ = nullptr;
  const Observations* observations_ = nullptr;
  std::optional<double> fixed_noise_;
  Limits limits_;
  MaternKernel kernel_;
  double active_dimensions_ = 1;

  std::optional<GpParameters> parameters_;  // of the last fit
  std::uint64_t fits_ = 0;
  LossScale scale_;
  LossWarp warp_;
  // Of those that the scheduler stopped before this iteration no loss below the floor is believed.
  std::int64_t floor_iteration_ = 0;
  double floor_loss_ = 0;
  std::size_t rows_at_fit_ = 0;
  std::vector<std::size_t> rows_;
  std::vector<double> y_;       // of the rows
  std::vector<bool> is_known_;  // a row, or left out by the last fit
  GaussianProcess process_;
  bool is_usable_ = false;
};

}  // namespace tune::searchers
