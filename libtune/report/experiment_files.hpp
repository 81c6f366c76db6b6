#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include <tune/callback.hpp>
#include <tune/json.hpp>

namespace tune::report {

// The files of an experiment that are no exporter's. The journal has all that stands in them.

/// What experiment.json holds; `end` is empty while the experiment runs.
[[nodiscard]] Json experiment_json(const ExperimentInfo& info,
                                   const std::optional<ExperimentEnd>& end);
/// Puts a new experiment.json in the place of an older one.
/// @throws std::system_error naming the path.
void write_experiment_file(const ExperimentInfo& info, const std::optional<ExperimentEnd>& end);

/// Appends a failed start to the error.txt of a trial, and makes the trial's directory if need be.
/// @throws std::system_error naming the path.
void append_failed_start(const std::filesystem::path& trial, std::uint32_t incarnation,
                         std::int64_t training_iteration, std::string_view error);
/// The same if there is no error.txt or an empty one.
void restore_failed_start(const std::filesystem::path& trial, std::uint32_t incarnation,
                          std::int64_t training_iteration, std::string_view error);

}  // namespace tune::report
