#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tune::test {

/// The event files of a trial's directory, in the order in which TensorBoard reads them.
[[nodiscard]] std::vector<std::filesystem::path> event_files(const std::filesystem::path& trial);
/// The events of a file. @throws std::runtime_error if a record is cut.
[[nodiscard]] std::vector<std::string> event_records(const std::filesystem::path& file);

/// What TensorBoard has of a trial after it has read all of its files.
struct ShownEvents {
  struct Scalars {
    std::int64_t step = 0;
    std::string event;  ///< All of it.
    friend bool operator==(const Scalars&, const Scalars&) = default;
  };
  std::vector<Scalars> scalars;  ///< In order; those that a session start takes away are not there.
  std::string parameters;        ///< The newest, without their time.
  int ends = 0;
  friend bool operator==(const ShownEvents&, const ShownEvents&) = default;
};
[[nodiscard]] ShownEvents shown_events(const std::filesystem::path& trial);
[[nodiscard]] std::vector<std::int64_t> steps(const ShownEvents& shown);

}  // namespace tune::test
