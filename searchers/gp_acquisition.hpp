#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <Eigen/Core>

#include <tune/random.hpp>

#include "searchers/encoded_space.hpp"
#include "searchers/gaussian_process.hpp"

namespace tune::searchers {

/// A point as the kernel sees it: where a dimension is inactive the middle, or no option.
[[nodiscard]] Eigen::RowVectorXd kernel_inputs(const EncodedSpace& space, const Point& point);

/// Finds the point with the largest log expected improvement in a space of any kind.
///
/// Many points, drawn anywhere and near the best ones, are compared; the best of them climb: along
/// the gradient in all numeric dimensions, then one dimension at a time over options and grid
/// points, branch keys included.
///
/// Near a point that is being evaluated the improvement counts for less (local penalisation,
/// Gonzalez et al., "Batch Bayesian Optimization via Local Penalization", 2016), by a factor of our
/// own: 1 - exp(-r^2 / (2 0.05^2)) at the scaled distance r. A sure model would else crowd a batch
/// into a corner too small to learn anything from.
class GpAcquisition {
 public:
  using Predicate = std::function<bool(const Point&)>;

  /// What the improvement is looked for in.
  struct Task {
    double best = 0;           ///< What is to be improved on.
    Eigen::Index running = 0;  ///< So many rows at the end are being evaluated: to be kept off.
    Point fixed;               ///< NaN where it is open.
  };
  /// `space` and `process` must outlive this.
  GpAcquisition(const EncodedSpace& space, const GaussianProcess& process, Task task,
                Predicate is_allowed);

  struct Proposal {
    Point point;
    double value = 0;
  };
  /// `good`: points to look around, the best first. Empty if there is nothing that is allowed.
  [[nodiscard]] std::optional<Proposal> maximize(const std::vector<Point>& good,
                                                 Random& random) const;

 private:
  // The log of a factor that is small near what is being evaluated, and its slopes if asked for.
  double log_distance(const Eigen::RowVectorXd& point, Eigen::RowVectorXd* slopes) const;
  [[nodiscard]] std::vector<double> values(const std::vector<Point>& points) const;
  [[nodiscard]] std::vector<Point> candidates(const std::vector<Point>& good, Random& random) const;
  [[nodiscard]] Point near(const Point& centre, Random& random) const;
  // `point` with option or place `place` at `d`; what that makes active comes from `donor`.
  [[nodiscard]] Point changed(const Point& point, std::size_t d, double place,
                              const Point& donor) const;
  void climb(Proposal& proposal) const;
  bool step_through(Proposal& proposal, const std::vector<Point>& donors) const;
  [[nodiscard]] std::vector<double> places_to_try(std::size_t d, double place) const;
  [[nodiscard]] bool is_open(std::size_t d) const;

  const EncodedSpace* space_;
  const GaussianProcess* process_;
  Task task_;
  Predicate is_allowed_;
};

}  // namespace tune::searchers
