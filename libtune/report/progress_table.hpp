#pragma once

#include <cstddef>
#include <vector>

#include <tune/progress.hpp>

#include "report/progress_renderer.hpp"
#include "styled_line.hpp"

namespace tune::report {

/// The lines that all rows of a progress need, the title line included; 0 if there is no row.
[[nodiscard]] std::size_t table_lines(const Progress& progress);
/// The running trials in at most `lines` lines: a title, a line a trial, and how many are left out.
/// Columns that the screen has no room for are left out, the most telling ones last.
[[nodiscard]] std::vector<StyledLine> render_table(const Progress& progress, std::size_t lines,
                                                   const Screen& screen);
/// "lr=0.01", "hidden=[64,64]": each parameter, nested ones by their path, shortened to 200
/// columns.
[[nodiscard]] std::vector<std::string> parameter_texts(const Config& config, Charset charset);

}  // namespace tune::report
