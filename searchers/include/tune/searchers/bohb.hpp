#pragma once

#include <cstdint>
#include <memory>

#include <tune/searcher.hpp>

namespace tune {

/// The names are those of Ray Tune's TuneBOHB and of HpBandSter.
struct BohbOptions {
  /// How many trials must have a value at a level before it is modelled; 0: the parameters and one.
  std::int64_t min_points_in_model = 0;
  double top_n_percent = 15;          ///< Of a level's trials, the good ones; above 0, below 100.
  std::int64_t num_samples = 64;      ///< Candidates compared for a suggestion; at least 1.
  double random_fraction = 1.0 / 3;   ///< Of the suggestions, drawn from the space; 0 to 1.
  std::int64_t reduction_factor = 3;  ///< Between levels; the scheduler's. At least 2.
};

/// Makes the searcher of BOHB: TPE on what is known of trials trained long enough.
///
/// Falkner, Klein and Hutter, "BOHB: Robust and Efficient Hyperparameter Optimization at Scale",
/// ICML 2018, section 4. For hyperband_for_bohb(), hyperband() and asha(). It models the losses at
/// the highest level, a power of reduction_factor in iterations, at which min_points_in_model
/// trials have one; trials still running and paused count with the level that they have reached.
///
/// Departures. The densities are those of tpe(), not kernels of the normal reference rule widened
/// by a bandwidth_factor; all its rules for branches, failures and values that are not finite hold.
/// Trials stopped below the level are in the bad group, since trials like them went on; those that
/// run and have not reached it, too.
///
/// The cost is that of tpe(), and O(results) when the level changes.
/// @throws std::invalid_argument naming an option out of range.
[[nodiscard]] std::unique_ptr<Searcher> bohb(const BohbOptions& options = {});

}  // namespace tune
