#include "styled_line.hpp"

#include <utility>

namespace tune::report {
namespace {

constexpr std::size_t gap = 2;  // between pieces side by side

std::string_view style_sequence(Style style) {
  switch (style) {
    case Style::strong:
      return "\x1b[1m";
    case Style::faint:
      return "\x1b[2m";
    case Style::good:
      return "\x1b[32m";
    case Style::bad:
      return "\x1b[31m";
    case Style::plain:
      break;
  }
  return {};
}

void append_styled(std::string& out, std::string_view text, Style style, Colors colors) {
  if (style == Style::plain || colors == Colors::off || text.empty()) {
    out += text;
    return;
  }
  out += style_sequence(style);
  out += text;
  out += "\x1b[0m";
}

}  // namespace

StyledLine& StyledLine::add(std::string text, Style style) {
  width_ += display_width(text);
  pieces_.push_back({std::move(text), style});
  return *this;
}

StyledLine& StyledLine::add(const StyledLine& other) {
  pieces_.insert(pieces_.end(), other.pieces_.begin(), other.pieces_.end());
  width_ += other.width_;
  return *this;
}

std::string StyledLine::text(Colors colors) const {
  std::string out;
  for (const Piece& piece : pieces_) append_styled(out, piece.text, piece.style, colors);
  return out;
}

std::string StyledLine::text(const Screen& screen) const {
  if (width_ <= screen.columns) return text(screen.colors);
  // What does not fit gives way to an ellipsis in the style of the piece that it cuts.
  const std::size_t dots = display_width(ellipsis(screen.charset));
  std::string out;
  std::size_t left = screen.columns;
  for (const Piece& piece : pieces_) {
    const std::size_t width = display_width(piece.text);
    if (width + dots <= left) {
      append_styled(out, piece.text, piece.style, screen.colors);
      left -= width;
      continue;
    }
    // Longer than there is room for, even if this piece by itself is not: the line goes on.
    const std::string longer = piece.text + std::string(screen.columns, '.');
    append_styled(out, shorten(longer, left, screen.charset), piece.style, screen.colors);
    break;
  }
  return out;
}

std::vector<StyledLine> flow(const std::vector<StyledLine>& pieces, std::size_t columns,
                             std::size_t indent, std::size_t max_lines) {
  std::vector<StyledLine> lines;
  for (const StyledLine& piece : pieces) {
    const bool is_first = lines.empty();
    const bool fits = !is_first && lines.back().width() + gap + piece.width() <= columns;
    if (fits || lines.size() == max_lines) {
      lines.back().add(std::string(gap, ' ')).add(piece);
      continue;
    }
    lines.emplace_back();
    if (!is_first && indent > 0) lines.back().add(std::string(indent, ' '));
    lines.back().add(piece);
  }
  return lines;
}

}  // namespace tune::report
