#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <tune/random.hpp>
#include <tune/search_space.hpp>
#include <tune/searchers/cma_es.hpp>

#include "cma_population.hpp"
#include "searchers/cma_distribution.hpp"
#include "searchers/encoded_space.hpp"

namespace tune::searchers {

/// The parameters of a space as CMA-ES has them: numbers, which have coordinates, and options.
/// Grid axes and what has one value are neither.
class CmaParameters {
 public:
  CmaParameters() = default;
  explicit CmaParameters(const SearchSpace& space);

  [[nodiscard]] const EncodedSpace& space() const { return space_; }
  /// Numbers and options together.
  [[nodiscard]] std::size_t size() const { return numbers_.size() + options_.size(); }
  [[nodiscard]] std::size_t numbers() const { return numbers_.size(); }
  [[nodiscard]] bool is_continuous(std::size_t number) const;
  [[nodiscard]] UnitInterval cell(std::size_t number, double coordinate) const;
  /// How many options each of the others has.
  [[nodiscard]] std::vector<std::size_t> option_counts() const;
  [[nodiscard]] std::vector<std::string> option_paths() const;

  /// With `fixed` where that says something; NaN where the branch is not taken.
  [[nodiscard]] Point point(const Eigen::VectorXd& place, const std::vector<std::int64_t>& options,
                            const Point& fixed) const;
  /// The coordinates of `point`, those of `otherwise` where it has none.
  [[nodiscard]] Eigen::VectorXd place(const Point& point, const Eigen::VectorXd& otherwise) const;
  /// The options of `point`; -1 where it has none.
  [[nodiscard]] std::vector<std::int64_t> options(const Point& point) const;
  /// `point` as the trial would see it.
  [[nodiscard]] Point snapped(Point point) const;
  /// `place` and behind it, for each option there is, 1 if it is the one and else 0.
  [[nodiscard]] Eigen::VectorXd with_option_axes(const Eigen::VectorXd& place,
                                                 const std::vector<std::int64_t>& options) const;

 private:
  EncodedSpace space_;
  std::vector<std::size_t> numbers_;  // dimensions
  std::vector<std::size_t> options_;  // dimensions
};

/// How options are drawn, and which, in a line for the user; empty if there are none.
[[nodiscard]] std::string rule_for_options(const CmaParameters& parameters);

/// What a run begins with.
struct CmaStart {
  CmaDistribution distribution;
  std::vector<OptionProbabilities> probabilities;
};

/// The first run: at x0, at what the best of the source have, or in the middle. `sign` is 1 if low
/// values are good, else -1.
[[nodiscard]] CmaStart start_of(const CmaParameters& parameters, const CmaEsOptions& options,
                                double sign);
/// A later run: anywhere.
[[nodiscard]] CmaStart random_start(const CmaParameters& parameters, const CmaEsOptions& options,
                                    double sigma, Random& random);

}  // namespace tune::searchers
