#pragma once

#include <cstdint>
#include <memory>

#include <tune/searcher.hpp>

namespace tune {

/// Makes a searcher that has each configuration of `searcher` run `repeats` times, and tells it the
/// mean: for training whose outcome depends much on its seed (each trial has a seed of its own).
///
/// Ray Tune's Repeater. The trials of one configuration follow one another; under a grid, in each
/// of its cells. They count as samples, so num_samples = 40 with 4 repeats tries 10
/// configurations. The repeats run whatever avoid_duplicates says; that acts on the first of each.
/// Points of the user are repeated too, once all of them had a first trial.
///
/// The searcher is told once, when the last of a configuration has ended: the mean of the last
/// values of those that completed; if none did, of those that the scheduler stopped, as a stopped
/// trial; if none of these has a value either, that the trial failed (as infeasible if every one
/// refused its configuration). So failed repeats do not count while another has a value. A value
/// that is not finite counts, and makes the mean so. Results on the way are not passed on: a
/// searcher that models fidelities learns the last one only. To the searcher the n-th
/// configuration is trial n.
///
/// O(configurations not finished * parameters) a call.
/// @throws std::invalid_argument without a searcher, or if `repeats` is below 1.
[[nodiscard]] std::unique_ptr<Searcher> repeated(std::unique_ptr<Searcher> searcher,
                                                 std::int64_t repeats);

}  // namespace tune
