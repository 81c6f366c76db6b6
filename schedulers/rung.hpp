#pragma once

#include <cstddef>
#include <string>

#include <tune/json.hpp>
#include <tune/mode.hpp>

#include "ranked_values.hpp"

namespace tune::schedulers {

/// How a value stands in its rung at the moment it enters.
struct RungStanding {
  double milestone = 0;
  double value = 0;
  double cutoff = 0;        ///< The worst value that still goes on.
  std::size_t rank = 0;     ///< From 1; equal values share the best rank.
  std::size_t places = 0;   ///< How many go on, those equal to the cut-off not counted.
  std::size_t entries = 0;  ///< Values in the rung, this one included.
  bool goes_on = true;

  /// The evidence, for people: "rung 3: 0.5 ranks 4 of 9; the best 3 go on, cut-off 0.7".
  [[nodiscard]] std::string describe() const;
};

/// Where trials of a bracket are compared: the values they had when they got to the milestone.
class Rung {
 public:
  Rung(double milestone, Mode mode) : milestone_(milestone), values_(mode) {}

  [[nodiscard]] double milestone() const { return milestone_; }
  /// Adds a value and judges it against all that are there. O(log n).
  RungStanding enter(double value, double reduction_factor);
  /// "3: 9 values, cut-off 0.7".
  [[nodiscard]] std::string describe(double reduction_factor) const;

  /// The values, the best first; what is not finite as text, since JSON has no number for it.
  [[nodiscard]] Json save() const;
  void restore(const Json& state);

 private:
  // max(1, floor(n / reduction_factor)) of the n values go on.
  [[nodiscard]] std::size_t places(double reduction_factor) const;

  double milestone_;
  RankedValues values_;
};

}  // namespace tune::schedulers
