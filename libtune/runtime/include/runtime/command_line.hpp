#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tune/experiment.hpp>

#include "runtime/host_port.hpp"

namespace tune::runtime {

/// A `--tune-...` option that was given, and the field of an experiment that it sets.
struct Override {
  std::string option;  ///< "--tune-num-samples"
  std::string value;   ///< Empty for an option that takes none.
  void (*set)(Experiment& experiment, const std::string& value) = nullptr;
};

/// A program's arguments, sorted.
struct CommandLine {
  bool asks_for_help = false;  ///< Then nothing else was looked at.
  /// Where to make certificates for the names in `program_words`; empty: it was not asked for.
  std::string certificate_directory;
  bool shows_machine = false;        ///< Say what this machine offers, and leave.
  std::vector<Override> overrides;   ///< As they were given. Each value is one that is allowed.
  std::optional<HostPort> join;      ///< Be a node of this driver.
  bool stays = false;                ///< As a node: for further experiments.
  std::string scratch;               ///< As a node: NodeOptions::scratch.
  std::vector<char*> program_words;  ///< What is not for tune, in its order.
};

/// Takes tune's own options out of `arguments`, in which the program's name is not.
///
/// `--tune-seed=3` and `--tune-seed 3` are the same. What stands behind `--` is the program's.
/// @throws std::invalid_argument for an unknown option, a missing or second value, or one that is
/// not allowed, naming option, value and what is allowed.
[[nodiscard]] CommandLine parse_command_line(std::span<char* const> arguments);

/// What `--tune-help` prints.
[[nodiscard]] std::string command_line_help();

/// "--tune-num-samples=4 --tune-fail-fast"; empty for none.
[[nodiscard]] std::string overrides_text(const std::vector<Override>& overrides);

/// Sets the fields.
/// @throws std::invalid_argument naming the option if a function has the place of what it sets.
void apply_overrides(const std::vector<Override>& overrides, Experiment& experiment);

}  // namespace tune::runtime
