#include "script_line.hpp"

#include <cmath>
#include <sstream>
#include <stdexcept>

namespace tune::test {

ScriptLine::ScriptLine(std::string place, const std::string& text) : place_(std::move(place)) {
  for (std::size_t i = 0; i < text.size() && text[i] != '#';) {
    if (text[i] == ' ') {
      ++i;
    } else if (text[i] == ':') {
      words_.push_back({":"});
      ++i;
    } else if (text[i] == '"') {
      const std::size_t end = text.find('"', i + 1);
      if (end == std::string::npos) fail("a text without its closing quote");
      words_.push_back({text.substr(i + 1, end - i - 1), true});
      i = end + 1;
    } else {
      const std::size_t end = std::min(text.find_first_of(" :#", i), text.size());
      words_.push_back({text.substr(i, end - i)});
      i = end;
    }
  }
}

const ScriptLine::Word& ScriptLine::take() {
  if (is_at_end()) fail("something is missing at the end of the line");
  return words_[next_++];
}

bool ScriptLine::accept(std::string_view word) {
  if (is_at_end() || words_[next_].is_quoted || words_[next_].text != word) return false;
  ++next_;
  return true;
}

void ScriptLine::require(std::string_view words) {
  std::istringstream in{std::string(words)};
  for (std::string word; in >> word;) {
    if (accept(word)) continue;
    fail("want \"" + word + "\"" +
         (is_at_end() ? " at the end" : ", not \"" + words_[next_].text + "\""));
  }
}

void ScriptLine::finish() const {
  if (!is_at_end()) fail("unknown word \"" + words_[next_].text + "\"");
}

std::string ScriptLine::word() {
  const Word& word = take();
  if (word.is_quoted) fail("want a word, not the text \"" + word.text + "\"");
  return word.text;
}

std::string ScriptLine::quoted() {
  const Word& word = take();
  if (!word.is_quoted) fail("want a text in quotes, not " + word.text);
  return word.text;
}

double ScriptLine::to_number(const std::string& text) const {
  try {
    std::size_t used = 0;
    const double value = std::stod(text, &used);
    if (used == text.size()) return value;
  } catch (const std::logic_error&) {
    // the same fault
  }
  fail("want a number, not \"" + text + "\"");
}

std::int64_t ScriptLine::to_integer(const std::string& text) const {
  const double value = to_number(text);
  if (value != std::floor(value)) fail("want a whole number, not " + text);
  return static_cast<std::int64_t>(value);
}

double ScriptLine::number() { return to_number(word()); }

std::int64_t ScriptLine::integer() { return to_integer(word()); }

TrialId ScriptLine::trial() {
  require("trial");
  return TrialId{static_cast<std::uint64_t>(integer())};
}

std::optional<std::pair<std::string, std::string>> ScriptLine::assignment() {
  if (is_at_end() || words_[next_].is_quoted) return std::nullopt;
  const std::string& text = words_[next_].text;
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return std::nullopt;
  ++next_;
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

MetricValue ScriptLine::metric_value() {
  const Word& value = take();
  return value.is_quoted ? MetricValue(value.text) : MetricValue(to_number(value.text));
}

std::vector<std::int64_t> ScriptLine::integers() {
  std::vector<std::int64_t> values;
  while (!is_at_end()) {
    const std::string text = word();
    const std::size_t dots = text.find("..");
    if (dots == std::string::npos) {
      values.push_back(to_integer(text));
      continue;
    }
    const std::int64_t last = to_integer(text.substr(dots + 2));
    for (std::int64_t i = to_integer(text.substr(0, dots)); i <= last; ++i) values.push_back(i);
  }
  return values;
}

void ScriptLine::fail(const std::string& what) const {
  throw std::invalid_argument(place_ + ": " + what);
}

}  // namespace tune::test
