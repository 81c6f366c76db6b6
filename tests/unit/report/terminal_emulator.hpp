#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tune::test {

/// A window as far as our display and plain programs use one: text of one column a byte, line
/// breaks, and the few ANSI sequences that move the cursor and erase.
class TerminalEmulator {
 public:
  TerminalEmulator(std::size_t columns, std::size_t rows)
      : columns_(columns), screen_(rows, std::string(columns, ' ')) {}

  void write(std::string_view text) {
    while (!text.empty()) {
      if (text.front() == '\x1b') {
        escape(text);
        continue;
      }
      put(text.front());
      text.remove_prefix(1);
    }
  }

  /// What is on the screen, and above it what has scrolled away; without blanks at the ends.
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> lines = history_;
    lines.insert(lines.end(), screen_.begin(), screen_.end());
    for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
  }

 private:
  void put(char c) {
    if (c == '\r') {
      column_ = 0;
    } else if (c == '\n') {
      column_ = 0;  // as a terminal's driver does for programs
      down();
    } else {
      if (column_ == columns_) {
        if (!wraps_) {
          --column_;
        } else {
          column_ = 0;
          down();
        }
      }
      screen_[row_][column_++] = c;
    }
  }

  void down() {
    if (row_ + 1 < screen_.size()) {
      ++row_;
      return;
    }
    history_.push_back(screen_.front());
    screen_.erase(screen_.begin());
    screen_.emplace_back(columns_, ' ');
  }

  void escape(std::string_view& text) {
    const char kind = text.at(1);
    std::size_t size = 2;
    if (kind == '7') {
      saved_row_ = row_;
      saved_column_ = column_;
    } else if (kind == '8') {
      row_ = saved_row_;
      column_ = saved_column_;
    } else if (kind == 'D') {
      down();
    } else {
      while (text.at(size) < '@') ++size;
      control(text.substr(2, size - 2), text[size]);
      ++size;
    }
    text.remove_prefix(size);
  }

  void control(std::string_view parameter, char end) {
    const std::size_t count =
        parameter.empty() || parameter[0] == '?' ? 1 : std::stoul(std::string(parameter));
    if (end == 'A') row_ -= std::min(row_, count);
    if (end == 'B') row_ = std::min(row_ + count, screen_.size() - 1);
    if (end == 'K' || end == 'J') {
      for (std::size_t i = column_; i < columns_; ++i) screen_[row_][i] = ' ';
    }
    if (end == 'J') {
      for (std::size_t i = row_ + 1; i < screen_.size(); ++i) screen_[i].assign(columns_, ' ');
    }
    if (parameter == "?7") wraps_ = end == 'h';
  }

  std::size_t columns_;
  std::vector<std::string> screen_;
  std::vector<std::string> history_;
  std::size_t row_ = 0;
  std::size_t column_ = 0;
  std::size_t saved_row_ = 0;
  std::size_t saved_column_ = 0;
  bool wraps_ = true;
};

}  // namespace tune::test
