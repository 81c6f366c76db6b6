#include "core/number_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

#include "core/json_text.hpp"

namespace tune::core {
namespace {

// Room for the longest text: sign, point, exponent, and up to 20 digits with zeros before them.
using NumberBuffer = std::array<char, 64>;

// `text`, cut before the first byte of a character that would pass `limit`.
std::string cut_text(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  text.resize(end);
  return text + "...";
}

}  // namespace

std::string number_text(double value) {
  if (!std::isfinite(value)) return std::string(non_finite_text(value));
  NumberBuffer buffer{};
  char* const begin = buffer.data();
  char* const limit = begin + buffer.size();
  // In the range that people write out, without an exponent: 0.0001 rather than 1e-04.
  const double size = std::abs(value);
  const auto end = size >= 1e-4 && size < 1e15
                       ? std::to_chars(begin, limit, value, std::chars_format::fixed).ptr
                       : std::to_chars(begin, limit, value).ptr;
  return {begin, end};
}

std::string number_text(double value, int digits) {
  if (!std::isfinite(value)) return std::string(non_finite_text(value));
  NumberBuffer buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::general, digits)
                       .ptr;
  return {buffer.data(), end};
}

std::string value_text(const Json& value) {
  if (value.is_number_float()) return number_text(value.get<double>());
  return cut_json(value, 100);
}

std::string cut_json(const Json& value, std::size_t bytes) {
  return cut_text(value.dump(-1, ' ', false, Json::error_handler_t::replace), bytes);
}

}  // namespace tune::core
