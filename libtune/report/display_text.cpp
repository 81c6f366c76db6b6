#include "report/display_text.hpp"

#include <array>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cwchar>
#include <type_traits>
#include <variant>

#include "core/json_text.hpp"

namespace tune::report {
namespace {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
};

// @pre `text` is UTF-8 and not empty
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto rest = [&](std::size_t i) { return static_cast<char32_t>(byte(i) & 0x3F); };
  if (byte(0) < 0x80 || text.size() < 2) return {byte(0), 1};
  if (byte(0) < 0xE0 || text.size() < 3) {
    return {(static_cast<char32_t>(byte(0) & 0x1F) << 6) | rest(1), 2};
  }
  if (byte(0) < 0xF0 || text.size() < 4) {
    return {(static_cast<char32_t>(byte(0) & 0x0F) << 12) | (rest(1) << 6) | rest(2), 3};
  }
  return {
      (static_cast<char32_t>(byte(0) & 0x07) << 18) | (rest(1) << 12) | (rest(2) << 6) | rest(3),
      4};
}

// The control characters of ASCII and Latin-1, and those that turn the direction of the text.
bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029 ||
         (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

/// For this thread, while it lives, wcwidth() knows Unicode, whatever the program's locale.
class UnicodeLocale {
 public:
  UnicodeLocale() {
    static const locale_t unicode = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (unicode != nullptr) previous_ = ::uselocale(unicode);
  }
  ~UnicodeLocale() {
    if (previous_ != nullptr) ::uselocale(previous_);
  }
  UnicodeLocale(const UnicodeLocale&) = delete;
  UnicodeLocale& operator=(const UnicodeLocale&) = delete;

 private:
  locale_t previous_ = nullptr;
};

std::size_t character_width(char32_t code) {
  if (code < 0x80) return 1;
  const int width = ::wcwidth(static_cast<wchar_t>(code));
  return width < 0 ? 1 : static_cast<std::size_t>(width);
}

bool is_ascii(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

std::string number_of(double value, std::chars_format format, int precision) {
  std::array<char, 64> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, precision).ptr;
  return {buffer.data(), end};
}

std::string scientific_number(double value) {
  return number_of(value, std::chars_format::scientific, 3);
}

}  // namespace

std::string printable(std::string_view text, Charset charset) {
  std::string scratch;
  text = core::as_utf8(text, scratch);
  std::string out;
  while (!text.empty()) {
    const Character character = first_character(text);
    if (is_control(character.code)) {
      out += ' ';
    } else if (character.code >= 0x80 && charset == Charset::ascii) {
      out += '?';
    } else {
      out += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  if (is_ascii(text)) return text.size();
  const UnicodeLocale locale;
  std::size_t width = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    width += character_width(character.code);
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string_view ellipsis(Charset charset) { return charset == Charset::unicode ? "…" : "..."; }

std::string shorten(std::string_view text, std::size_t columns, Charset charset) {
  if (display_width(text) <= columns) return std::string(text);
  const std::string_view dots = ellipsis(charset);
  const std::size_t dots_width = display_width(dots);
  if (columns <= dots_width) {
    // "…" has one column but three bytes; "..." may be cut.
    return std::string(columns == dots_width ? dots : std::string_view("...").substr(0, columns));
  }
  const UnicodeLocale locale;
  std::size_t left = columns - dots_width;
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const Character character = first_character(text.substr(bytes));
    const std::size_t width = character_width(character.code);
    if (width > left) break;
    left -= width;
    bytes += character.bytes;
  }
  return std::string(text.substr(0, bytes)) + std::string(dots);
}

std::string shorten_front(std::string_view text, std::size_t columns, Charset charset) {
  std::size_t width = display_width(text);
  if (width <= columns) return std::string(text);
  const std::string_view dots = ellipsis(charset);
  const std::size_t dots_width = display_width(dots);
  if (columns <= dots_width) return shorten(text, columns, charset);
  const UnicodeLocale locale;
  while (!text.empty() && width > columns - dots_width) {
    const Character character = first_character(text);
    width -= character_width(character.code);
    text.remove_prefix(character.bytes);
  }
  return std::string(dots) + std::string(text);
}

std::string column_number(double value) {
  if (!std::isfinite(value)) return std::string(core::non_finite_text(value));
  const double size = std::abs(value);
  if (size == 0) return "0.000";
  if (size >= 1e7 || size < 1e-3) return scientific_number(value);
  if (size >= 9999.5) return number_of(value, std::chars_format::fixed, 0);
  const int digits_before = size >= 1 ? static_cast<int>(std::floor(std::log10(size))) + 1 : 1;
  return number_of(value, std::chars_format::fixed, size < 1 ? 4 : 4 - digits_before);
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return std::string(core::non_finite_text(value));
  const double size = std::abs(value);
  if (size == 0) return "0";
  // A whole number stays one as long as it is short.
  if (size < 1e7 && size == std::floor(size)) return number_of(value, std::chars_format::fixed, 0);
  if (size >= 9999.5 && size < 1e7) return number_of(value, std::chars_format::fixed, 0);
  return number_of(value, std::chars_format::general, 4);
}

std::string metric_text(const MetricValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) {
          return v ? "true" : "false";
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          return std::to_string(v);
        } else if constexpr (std::is_same_v<T, double>) {
          return column_number(v);
        } else {
          return v;
        }
      },
      value.variant());
}

std::string parameter_text(const Json& value) {
  constexpr std::size_t enough_bytes = 1024;
  if (value.is_string()) return value.get_ref<const std::string&>().substr(0, enough_bytes);
  if (value.is_number_float()) return short_number(value.get<double>());
  if (!value.is_array()) {
    return value.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  }
  std::string text = "[";
  for (const Json& element : value) {
    if (text.size() > enough_bytes) return text;
    if (text.size() > 1) text += ',';
    text += parameter_text(element);
  }
  return text + ']';
}

std::string duration_text(std::chrono::duration<double> duration) {
  const double seconds = duration.count() > 0 ? duration.count() : 0;  // nor NaN
  if (!(seconds < 1e15)) return "for ever";
  if (seconds < 0.0995) return number_of(seconds * 1000, std::chars_format::fixed, 0) + " ms";
  if (seconds < 9.95) return number_of(seconds, std::chars_format::fixed, 1) + " s";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return std::to_string(whole) + " s";
  const std::int64_t days = whole / 86400;
  const auto hours = static_cast<int>(whole / 3600 % 24);
  const auto minutes = static_cast<int>(whole / 60 % 60);
  std::array<char, 48> buffer{};
  if (days > 0) {
    std::snprintf(buffer.data(), buffer.size(), "%lld d %02d:%02d", static_cast<long long>(days),
                  hours, minutes);
  } else if (hours > 0) {
    std::snprintf(buffer.data(), buffer.size(), "%d:%02d:%02d", hours, minutes,
                  static_cast<int>(whole % 60));
  } else {
    std::snprintf(buffer.data(), buffer.size(), "%d:%02d", minutes, static_cast<int>(whole % 60));
  }
  return buffer.data();
}

}  // namespace tune::report
