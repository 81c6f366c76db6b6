#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include <tune/callback.hpp>
#include <tune/json.hpp>
#include <tune/result.hpp>
#include <tune/result_grid.hpp>

namespace tune::report {

// How the files of an experiment are read. All errors are std::runtime_error with file and line.

/// What a last line that cannot be read means.
enum class LastLine {
  must_be_whole,
  may_be_cut,  ///< The writer was at work, or died there: such a line is left out.
};

/// What experiment.json holds.
struct ExperimentFile {
  ExperimentInfo info;
  std::optional<ExperimentEnd> end;  ///< Empty while it runs, or if it was killed.
};
[[nodiscard]] Json experiment_json(const ExperimentInfo& info,
                                   const std::optional<ExperimentEnd>& end);
[[nodiscard]] ExperimentFile read_experiment_file(const std::filesystem::path& experiment);

/// The trials by the lines of trials.jsonl, in the order of their ids. `file` is for messages.
[[nodiscard]] std::vector<TrialResult> read_trials(std::string_view lines,
                                                   const std::filesystem::path& file,
                                                   const std::filesystem::path& experiment,
                                                   LastLine last_line);

/// The rows of a result.json.
[[nodiscard]] std::vector<Result> read_results(const std::filesystem::path& file,
                                               LastLine last_line);
/// The last whole row of a result.json that may be growing; empty if there is none.
[[nodiscard]] std::optional<Result> read_last_result(const std::filesystem::path& file);

}  // namespace tune::report
