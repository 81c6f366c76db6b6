#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tune/resources.hpp>

namespace tune::runtime {

/// The environment of this process, as "NAME=value".
[[nodiscard]] std::vector<std::string> program_environment();

/// The value of `name` in a list of "NAME=value"; the last one counts.
[[nodiscard]] std::optional<std::string> environment_value(std::span<const std::string> environment,
                                                           std::string_view name);

/// The devices that CUDA_VISIBLE_DEVICES lists in the program's environment, as it names them
/// (numbers or UUIDs), up to the first that is empty or negative, as CUDA reads it; no value if it
/// is not set.
[[nodiscard]] std::optional<std::vector<std::string>> visible_devices(
    std::span<const std::string> program);

/// What the environment of a trial's process has beside the program's own, as "NAME=value":
/// - OMP_NUM_THREADS and its like for other libraries: the whole cores of the grant, at least 1.
/// One
///   that the program's environment sets is left as it is; OMP_NUM_THREADS also covers the
///   libraries that read it where their own variable is not set.
/// - CUDA_VISIBLE_DEVICES: the devices of the grant, out of those in the program's own list if it
/// has
///   one. Empty for a grant without devices.
/// @throws std::invalid_argument naming a device that the program's own list does not have.
[[nodiscard]] std::vector<std::string> grant_environment(const ResourceGrant& grant,
                                                         std::span<const std::string> program);

/// What `program` has and `changes` does not name, then `changes`: for execve.
[[nodiscard]] std::vector<std::string> merged_environment(std::span<const std::string> program,
                                                          std::span<const std::string> changes);

}  // namespace tune::runtime
