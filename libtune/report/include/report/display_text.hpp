#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <tune/config.hpp>
#include <tune/json.hpp>
#include <tune/metrics.hpp>

namespace tune::report {

/// Which characters a terminal shows.
enum class Charset { ascii, unicode };

/// `text` fit for a terminal, in one line: control characters are blanks, bytes that are not UTF-8
/// are U+FFFD; without Unicode all that is not ASCII is '?'.
[[nodiscard]] std::string printable(std::string_view text, Charset charset);

/// Columns that `text` takes: 2 for a wide character, 0 for one that combines with another.
/// @pre `text` is printable()
[[nodiscard]] std::size_t display_width(std::string_view text);

/// "…", or "..." without Unicode.
[[nodiscard]] std::string_view ellipsis(Charset charset);
/// The beginning of `text` in at most `columns` columns, with an ellipsis if something is left out.
/// @pre `text` is printable()
[[nodiscard]] std::string shorten(std::string_view text, std::size_t columns, Charset charset);
/// The same with the end of it, as suits a path.
[[nodiscard]] std::string shorten_front(std::string_view text, std::size_t columns,
                                        Charset charset);

/// About 4 digits, so that a column of them stands well: "0.9000", "-12.30", "12345", "1.230e-05",
/// "nan", "inf".
[[nodiscard]] std::string column_number(double value);
/// About 4 digits, without zeros at the end: "0.9", "1.23e-05".
[[nodiscard]] std::string short_number(double value);
/// Integers in full, doubles as column_number(); booleans are "true" and "false".
[[nodiscard]] std::string metric_text(const MetricValue& value);
/// A parameter's value: numbers as short_number(), texts without quotes. The first kilobyte or so.
[[nodiscard]] std::string parameter_text(const Json& value);

/// "20 ms", "0.4 s", "12 s", "3:12", "1:03:12", "2 d 03:12".
[[nodiscard]] std::string duration_text(std::chrono::duration<double> duration);

}  // namespace tune::report
