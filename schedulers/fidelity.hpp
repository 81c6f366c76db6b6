#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tune/mode.hpp>
#include <tune/objective.hpp>

namespace tune::schedulers {

/// What the schedulers that compare trials by their progress have in common: the check of their
/// options, milestones and HyperBand's brackets. All errors are std::invalid_argument and begin
/// with the name of the scheduler.
class FidelityCheck {
 public:
  explicit FidelityCheck(std::string scheduler) : scheduler_(std::move(scheduler)) {}

  [[noreturn]] void refuse(const std::string& what) const;
  void objective(const std::string& time_attr, const std::string& metric,
                 const std::optional<Mode>& mode) const;
  void range(double grace_period, double max_t) const;
  void reduction_factor(double reduction_factor) const;
  /// `first` * reduction_factor^k up to and including `max_t`. @pre the options were checked
  [[nodiscard]] std::vector<double> powers(double first, double max_t,
                                           double reduction_factor) const;

 private:
  std::string scheduler_;
};

/// A scheduler's own objective, as its options say.
[[nodiscard]] std::optional<Objective> objective_of(const std::string& metric,
                                                    const std::optional<Mode>& mode);

/// The sizes of HyperBand's brackets (Li et al., "Hyperband", JMLR 2018, algorithm 1), the first
/// `wanted` of `all`, the one with the most trials and the earliest milestone first.
[[nodiscard]] std::vector<double> bracket_sizes(std::size_t wanted, std::size_t all,
                                                double reduction_factor);

}  // namespace tune::schedulers
