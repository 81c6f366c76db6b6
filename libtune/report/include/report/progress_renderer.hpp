#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <tune/progress.hpp>

#include "report/display_text.hpp"

namespace tune::report {

enum class Colors { off, on };

/// What the lines are made for.
struct Screen {
  std::size_t columns = 80;
  std::size_t rows = 24;  ///< At most so many lines.
  Charset charset = Charset::ascii;
  Colors colors = Colors::off;
};

// Lines of text without line breaks; with colours they have ANSI sequences, and end without one.

/// How the experiment stands: a bar, counts, the best trial, a table of those that run. No line is
/// wider than the screen, and there are no more than it has rows.
[[nodiscard]] std::vector<std::string> render_progress(const Progress& progress,
                                                       const Screen& screen);
/// The same in one line of any width.
[[nodiscard]] std::string render_line(const Progress& progress, Charset charset);
/// What is said once, when the experiment starts.
[[nodiscard]] std::string render_start(const Progress& progress, Charset charset);
/// What is said once, when it has ended. Configurations and paths are whole, so that they can be
/// copied: a line may be wider than the screen.
[[nodiscard]] std::vector<std::string> render_summary(const Progress& progress,
                                                      const Screen& screen);

}  // namespace tune::report
