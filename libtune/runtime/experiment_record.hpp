#pragma once

#include <cstdint>
#include <string>

#include <tune/checkpoint.hpp>
#include <tune/json.hpp>

namespace tune::runtime {

// What the records of an experiment and of a run outside one have in common.

/// A seed for one that was not given.
[[nodiscard]] std::uint64_t draw_seed();
/// Sixteen hexadecimal digits that no other experiment has.
[[nodiscard]] std::string draw_experiment_id();
/// As experiment.json has it.
[[nodiscard]] Json describe(const CheckpointOptions& options);

}  // namespace tune::runtime
