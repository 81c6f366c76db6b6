#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tune/objective.hpp>
#include <tune/result_grid.hpp>
#include <tune/what_if.hpp>
#include <tune/workload.hpp>

namespace tune::sim {

/// y = a + b t^-c over the iterations t.
struct PowerLaw {
  double a = 0;
  double b = 0;
  double c = 0;
  [[nodiscard]] double at(std::int64_t iteration) const;
};
/// The least squares over the finite ones of the values at iterations 1, 2, ...; c is searched for
/// in steps of 0.1. Empty for fewer than 4 of them.
[[nodiscard]] std::optional<PowerLaw> fit_power_law(const std::vector<double>& values);

/// What is known of a trial, and what is assumed of it.
struct RecordedCurve {
  enum class End {
    complete,  ///< It was trained to its end.
    failed,
    stopped,     ///< By its scheduler.
    unfinished,  ///< The experiment ended before it, or runs.
  };
  TrialId trial;
  Config config = {};
  CurveTable::Curve points = {};
  End end = End::complete;
  std::string error = {};
  std::int64_t length = 0;           ///< Where it ends, beyond the points if it was cut.
  std::optional<PowerLaw> law = {};  ///< Of the metric, after the last point.
  double seconds = 0;                ///< Of each step after that.

  [[nodiscard]] bool is_cut() const { return end == End::stopped || end == End::unfinished; }
  [[nodiscard]] std::int64_t recorded() const { return static_cast<std::int64_t>(points.size()); }
  [[nodiscard]] SimulatedStep step(std::int64_t iteration, std::string_view metric) const;
};

/// All curves of an experiment, and what is of all of them.
struct RecordedCurves {
  Objective objective;
  std::vector<RecordedCurve> curves = {};
  std::vector<TrialId> without_curve = {};  ///< Left out.
  double compute_s = 0;                     ///< Of all steps.
  double wall_s = 0;                        ///< In which at least one of them ran.
  std::int64_t slots = 1;                   ///< So many ran side by side.

  /// @throws std::invalid_argument as what_if().
  [[nodiscard]] static RecordedCurves read(const ResultGrid& grid, const WhatIfOptions& options);
};

}  // namespace tune::sim
