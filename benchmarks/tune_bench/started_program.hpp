#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

// This program, started anew: as a node, or to be measured as a whole.
namespace tune::bench {

/// Another process of this program. What it prints on stderr is dropped.
class StartedProgram {
 public:
  /// @throws std::system_error
  explicit StartedProgram(const std::vector<std::string>& arguments);
  /// Kills it if nobody has waited for it.
  ~StartedProgram();
  StartedProgram(const StartedProgram&) = delete;
  StartedProgram& operator=(const StartedProgram&) = delete;

  /// @throws std::runtime_error if it does not end well.
  void wait();

 private:
  pid_t pid_ = 0;
};

/// The words after which the program is one that is measured, with what belongs behind them.
inline constexpr const char* trivial_word = "--trivial-experiment";  ///< DIRECTORY ISOLATION
/// DIRECTORY TRIALS RESULTS ISOLATION all|none: prints the seconds of tune_run as JSON. For
/// benchmarks/peers.
inline constexpr const char* search_word = "--search";
/// In the directory of the trivial experiment: when its first step began, in nanoseconds of the
/// steady clock.
inline constexpr const char* first_step_file = "first_step";

/// If this process was started to be measured: runs that, and true.
[[nodiscard]] bool run_if_measured(const std::vector<std::string>& arguments);

}  // namespace tune::bench
