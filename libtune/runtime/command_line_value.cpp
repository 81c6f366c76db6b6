#include "command_line_value.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <string_view>

namespace tune::runtime {
namespace {

std::optional<double> finite_number(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// How many bytes `unit` has; empty if it is none.
std::optional<double> unit_bytes(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 10> units = {{{"", 1},
                                                                          {"B", 1},
                                                                          {"kB", 1e3},
                                                                          {"MB", 1e6},
                                                                          {"GB", 1e9},
                                                                          {"TB", 1e12},
                                                                          {"KiB", 0x1p10},
                                                                          {"MiB", 0x1p20},
                                                                          {"GiB", 0x1p30},
                                                                          {"TiB", 0x1p40}}};
  for (const auto& [name, bytes] : units) {
    if (name == unit) return bytes;
  }
  return std::nullopt;
}

}  // namespace

double number_value(const std::string& text) {
  if (const auto value = finite_number(text)) return *value;
  throw std::invalid_argument("want a number");
}

std::uint64_t size_value(const std::string& text) {
  constexpr double largest = 0x1p63;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = finite_number(std::string_view(text).substr(0, digits));
  const auto unit = unit_bytes(std::string_view(text).substr(digits));
  if (number && unit && *number * *unit < largest) {
    return static_cast<std::uint64_t>(std::llround(*number * *unit));
  }
  throw std::invalid_argument(
      "want bytes below 2^63, with or without a unit: B, kB, MB, GB, TB (of 1000), KiB, MiB, GiB, "
      "TiB (of 1024), such as 4GB or 1.5GiB");
}

std::pair<std::string, double> amount_value(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0) {
    if (const auto amount = finite_number(std::string_view(text).substr(equals + 1))) {
      return {text.substr(0, equals), *amount};
    }
  }
  throw std::invalid_argument("want a name and a number, such as licence=2");
}

std::pair<std::string, std::string> label_value(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw std::invalid_argument("want a name and a value, such as zone=a");
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

Resume resume_value(const std::string& text) {
  if (text == "automatic") return Resume::automatic;
  if (text == "never") return Resume::never;
  if (text == "fresh") return Resume::fresh;
  if (text == "errored") return Resume::errored;
  if (text == "restart_errored") return Resume::restart_errored;
  throw std::invalid_argument("want automatic, never, fresh, errored or restart_errored");
}

Isolation isolation_value(const std::string& text) {
  if (text == "processes") return Isolation::processes;
  if (text == "threads") return Isolation::threads;
  throw std::invalid_argument("want processes or threads");
}

}  // namespace tune::runtime
