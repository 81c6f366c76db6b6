#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

/// What may decide which trials are trained on.
inline constexpr std::array scheduler_names = {
    "asha",  "asha_promotion",     "fifo", "hyperband", "median_stopping",
    "pasha", "successive_halving", "pbt"};

/// What may propose configurations.
inline constexpr std::array searcher_names = {"automatic", "bohb", "gp", "random", "tpe"};

/// What the command line can change.
struct Options {
  std::int64_t samples = 27;
  std::int64_t max_epochs = 9;
  std::string scheduler = "asha";   ///< One of scheduler_names.
  std::string searcher = "random";  ///< One of searcher_names.
  std::string storage;              ///< Empty: tune's default.
  std::string name;                 ///< Empty: made up.
  std::uint64_t seed = 1;
  std::optional<double> cpus;  ///< Empty: all that this process may use.
  std::string data;            ///< A folder with the four IDX files.
};

/// Reads the command line. Empty if the user asked for help, which is then printed.
/// @throws std::invalid_argument saying which argument is wrong and what is allowed.
[[nodiscard]] std::optional<Options> parse_options(int argc, const char* const* argv);
