#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tune/json.hpp>
#include <tune/metrics.hpp>

namespace tune::report {

// CSV after RFC 4180, as Python's csv module and pandas read it.

/// One field, quoted if need be; bytes that are not UTF-8 are replaced.
void append_csv_text(std::string& out, std::string_view text);
/// A double as "0.3", "5.0", "nan", "inf", "-inf"; reads back exactly.
void append_csv_number(std::string& out, double value);
/// A boolean is True or False.
void append_csv_metric(std::string& out, const MetricValue& value);
/// A parameter's value: null is empty, an array or object its JSON text.
void append_csv_value(std::string& out, const Json& value);

/// The place after the record that begins at `begin`, its line break included.
[[nodiscard]] std::size_t csv_record_end(std::string_view text, std::size_t begin);
/// How many fields one record has, with or without its line break.
[[nodiscard]] std::size_t csv_field_count(std::string_view record);
/// The fields of one record.
[[nodiscard]] std::vector<std::string> csv_fields(std::string_view record);

}  // namespace tune::report
