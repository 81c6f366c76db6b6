#include "report/csv_text.hpp"

#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>

#include "core/json_text.hpp"

namespace tune::report {
namespace {

constexpr std::string_view csv_line_break = "\r\n";

}  // namespace

void append_csv_text(std::string& out, std::string_view text) {
  std::string scratch;
  text = core::as_utf8(text, scratch);
  // An empty text is quoted, so that it is not the same as no value.
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void append_csv_number(std::string& out, double value) {
  if (std::isfinite(value)) {
    core::append_json_number(out, value);
  } else {
    out += core::non_finite_text(value);
  }
}

void append_csv_metric(std::string& out, const MetricValue& value) {
  const MetricValue::Variant& variant = value.variant();
  if (const auto* number = std::get_if<double>(&variant)) {
    append_csv_number(out, *number);
  } else if (const auto* integer = std::get_if<std::int64_t>(&variant)) {
    core::append_json_integer(out, *integer);
  } else if (const auto* boolean = std::get_if<bool>(&variant)) {
    out += *boolean ? "True" : "False";
  } else {
    append_csv_text(out, std::get<std::string>(variant));
  }
}

void append_csv_value(std::string& out, const Json& value) {
  if (value.is_null()) return;
  if (value.is_boolean()) {
    out += value.get<bool>() ? "True" : "False";
  } else if (value.is_number_float()) {
    append_csv_number(out, value.get<double>());
  } else if (value.is_string()) {
    append_csv_text(out, value.get_ref<const std::string&>());
  } else {
    append_csv_text(out, value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
}

std::size_t csv_record_end(std::string_view text, std::size_t begin) {
  bool is_quoted = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '"') is_quoted = !is_quoted;  // a doubled quote changes it twice
    if (!is_quoted && text.substr(i, csv_line_break.size()) == csv_line_break) {
      return i + csv_line_break.size();
    }
  }
  return text.size();
}

std::size_t csv_field_count(std::string_view record) {
  bool is_quoted = false;
  std::size_t count = 1;
  for (const char c : record) {
    if (c == '"') is_quoted = !is_quoted;
    if (c == ',' && !is_quoted) ++count;
  }
  return count;
}

std::vector<std::string> csv_fields(std::string_view record) {
  if (record.ends_with(csv_line_break)) record.remove_suffix(csv_line_break.size());
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < record.size(); ++i) {
    const char c = record[i];
    if (is_quoted && c == '"' && record.substr(i + 1).starts_with('"')) {
      fields.back() += c;
      ++i;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

}  // namespace tune::report
