#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <Eigen/Core>

#include <tune/json.hpp>
#include <tune/random.hpp>

#include "standing.hpp"

namespace tune::searchers {

/// A trial that has ended, as CMA-ES sees it.
struct CmaMember {
  Eigen::VectorXd place;              ///< Of its numbers.
  std::vector<std::int64_t> options;  ///< Of its other parameters; -1 where there is none.
  Standing standing;
};

/// The numbers of `members` from the best to the worst; equal ones by number.
[[nodiscard]] std::vector<std::size_t> ranked(const std::vector<CmaMember>& members);

/// `weights` of the best, the second best and so on, given to the members in the order `order`;
/// equal ones have the mean of theirs.
[[nodiscard]] std::vector<double> shared_weights(const std::vector<CmaMember>& members,
                                                 const std::vector<std::size_t>& order,
                                                 std::vector<double> weights);

/// How likely each option of a parameter without order is drawn.
class OptionProbabilities {
 public:
  OptionProbabilities() = default;
  /// None falls below `least`. @pre `count > 0` and `0 <= least * count <= 1`
  OptionProbabilities(std::size_t count, double least);

  [[nodiscard]] std::size_t draw(Random& random) const;
  /// Draws as if all were equally likely with probability `share`.
  [[nodiscard]] std::size_t draw(Random& random, double share) const;
  /// Towards `option` by `rate` of the way.
  void move_to(std::size_t option, double rate);
  /// Raises what has fallen below the least at the cost of the others.
  void keep_least();

  [[nodiscard]] const std::vector<double>& values() const { return values_; }
  [[nodiscard]] Json save() const;
  void restore(const Json& state);

 private:
  std::vector<double> values_;
  double least_ = 0;
};

[[nodiscard]] Json saved_members(const std::vector<CmaMember>& members);
[[nodiscard]] std::vector<CmaMember> restored_members(const Json& state);

}  // namespace tune::searchers
