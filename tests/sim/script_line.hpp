#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tune/ids.hpp>
#include <tune/metrics.hpp>

namespace tune::test {

/// One line of a scenario, read word by word. Texts stand in "double quotes"; a colon at the end of
/// a word is a word of its own; what follows # is a comment.
///
/// All faults are std::invalid_argument: `file:line: what is wrong`.
class ScriptLine {
 public:
  ScriptLine(std::string place, const std::string& text);

  [[nodiscard]] const std::string& place() const { return place_; }
  [[nodiscard]] bool is_at_end() const { return next_ == words_.size(); }
  /// Takes the next word if it is `word`.
  bool accept(std::string_view word);
  /// Takes words that must come here: "of trial".
  void require(std::string_view words);
  /// Nothing more may come.
  void finish() const;

  std::string word();
  std::string quoted();
  double number();
  std::int64_t integer();
  TrialId trial();
  /// `name=value`, with the value as it stands; empty if the next word is none.
  std::optional<std::pair<std::string, std::string>> assignment();
  /// A metric's value: a number, nan, inf, -inf or a "text".
  MetricValue metric_value();
  /// Numbers and ranges to the end of the line: `1..4 4 9`.
  std::vector<std::int64_t> integers();

  [[nodiscard]] double to_number(const std::string& text) const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  struct Word {
    std::string text;
    bool is_quoted = false;
  };
  [[nodiscard]] std::int64_t to_integer(const std::string& text) const;
  const Word& take();

  std::string place_;
  std::vector<Word> words_;
  std::size_t next_ = 0;
};

}  // namespace tune::test
