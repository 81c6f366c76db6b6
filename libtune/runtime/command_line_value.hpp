#pragma once

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <tune/experiment.hpp>

namespace tune::runtime {

// Values of options from their text: all of it, without blanks around it, and the same in every
// locale. What cannot be read is a std::invalid_argument that says what is wanted; the caller says
// whose value it is.

/// A whole number. What one may be is for the field's own check.
template <class Integer>
[[nodiscard]] Integer whole_value(const std::string& text) {
  static_assert(std::is_integral_v<Integer>);
  Integer value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && stop == end) return value;
  const std::string bits = std::to_string(8 * sizeof(Integer)) + " bits";
  throw std::invalid_argument(std::is_signed_v<Integer> ? "want a whole number of " + bits
                                                        : "want a whole number from 0, of " + bits);
}

/// A finite number: "2", "0.5", "1e3".
[[nodiscard]] double number_value(const std::string& text);

/// Bytes: "4096", "4GB" (powers of 1000: kB, MB, GB, TB) or "1.5GiB" (of 1024: KiB, MiB, GiB, TiB).
[[nodiscard]] std::uint64_t size_value(const std::string& text);

/// "licence=2".
[[nodiscard]] std::pair<std::string, double> amount_value(const std::string& text);

/// "zone=a". The name must not be empty, the value may.
[[nodiscard]] std::pair<std::string, std::string> label_value(const std::string& text);

/// "automatic", "never", "fresh", "errored" or "restart_errored".
[[nodiscard]] Resume resume_value(const std::string& text);

/// "processes" or "threads".
[[nodiscard]] Isolation isolation_value(const std::string& text);

}  // namespace tune::runtime
