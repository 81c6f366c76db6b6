#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/progress_renderer.hpp"

namespace tune::report {

enum class Style { plain, strong, faint, good, bad };

/// A line put together from pieces of text, each in a style.
class StyledLine {
 public:
  StyledLine() = default;
  explicit StyledLine(std::string text, Style style = Style::plain) { add(std::move(text), style); }

  /// @pre `text` is printable()
  StyledLine& add(std::string text, Style style = Style::plain);
  StyledLine& add(const StyledLine& other);
  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  /// With its colours, whatever its width.
  [[nodiscard]] std::string text(Colors colors) const;
  /// The same, shortened to the width of the screen.
  [[nodiscard]] std::string text(const Screen& screen) const;

 private:
  struct Piece {
    std::string text;
    Style style = Style::plain;
  };
  std::vector<Piece> pieces_;
  std::size_t width_ = 0;
};

/// Puts pieces side by side, two blanks between them, into as many lines as they need; those behind
/// the first begin with `indent` blanks. The last of `max_lines` lines may be too wide.
[[nodiscard]] std::vector<StyledLine> flow(const std::vector<StyledLine>& pieces,
                                           std::size_t columns, std::size_t indent,
                                           std::size_t max_lines);

}  // namespace tune::report
