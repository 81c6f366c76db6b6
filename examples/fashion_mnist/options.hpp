#pragma once

#include <cstdint>
#include <optional>
#include <string>

/// What the command line can change.
struct Options {
  std::int64_t samples = 27;
  std::int64_t max_epochs = 9;
  std::string storage;  ///< Empty: tune's default.
  std::string name;     ///< Empty: made up.
  std::uint64_t seed = 1;
  std::optional<double> cpus;  ///< Empty: all that this process may use.
  std::string data;            ///< A folder with the four IDX files.
};

/// Reads the command line. Empty if the user asked for help, which is then printed.
/// @throws std::invalid_argument saying which argument is wrong and what is allowed.
[[nodiscard]] std::optional<Options> parse_options(int argc, const char* const* argv);
