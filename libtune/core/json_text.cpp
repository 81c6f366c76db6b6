#include "core/json_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace tune::core {
namespace {

// The length of the UTF-8 sequence at the start of `text`, which is not empty; 0 if it is none
// (Unicode, table 3-7).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;   // shorter forms exist
    if (first == 0xED) high = 0x9F;  // surrogates
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;   // shorter forms exist
    if (first == 0xF4) high = 0x8F;  // beyond U+10FFFF
  }
  if (length == 0 || text.size() < length || byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

bool needs_escape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

void append_escape(std::string& out, char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  switch (c) {
    case '"':
    case '\\':
      out += {'\\', c};
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += {digits[static_cast<unsigned char>(c) >> 4U], digits[c & 0xF]};
  }
}

// One name on the way to a value, escaped as in a JSON pointer (RFC 6901).
std::string place_below(const std::string& place, std::string_view name) {
  std::string below = place.empty() ? "" : place + '/';
  for (const char c : name) {
    if (c == '~') {
      below += "~0";
    } else if (c == '/') {
      below += "~1";
    } else {
      below += c;
    }
  }
  return below;
}

// Keeps the order of metrics.
using OrderedJson = nlohmann::ordered_json;

MetricValue metric_of(const std::string& name, const OrderedJson& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  throw std::runtime_error("metric \"" + name + "\" is " + value.dump() +
                           ", not a number, boolean or text");
}

}  // namespace

std::string_view non_finite_text(double value) {
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

double non_finite_value(std::string_view text) {
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  throw std::invalid_argument("nonfinite value \"" + std::string(text) +
                              "\" is not one of nan, inf, -inf");
}

void NonFinite::add(std::string_view place, double value) {
  values_.emplace_back(place, non_finite_text(value));
}

std::string NonFinite::text() const {
  if (empty()) return {};
  std::string out = "{";
  for (const auto& [place, text] : values_) {
    append_json_text(out, place);
    out += ':';
    append_json_text(out, text);
    out += ',';
  }
  out.back() = '}';
  return out;
}

void NonFinite::append_member(std::string& out) const {
  if (!empty()) (out += ",\"nonfinite\":") += text();
}

std::string_view as_utf8(std::string_view text, std::string& scratch) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), is_ascii)) return text;
  scratch.clear();
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = utf8_length(rest);
    scratch += length > 0 ? rest.substr(0, length) : std::string_view("\xEF\xBF\xBD");
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return scratch;
}

void append_json_text(std::string& out, std::string_view text) {
  std::string scratch;
  text = as_utf8(text, scratch);
  out += '"';
  while (!text.empty()) {
    const auto stop = std::find_if(text.begin(), text.end(), needs_escape);
    const auto plain = static_cast<std::size_t>(stop - text.begin());
    out += text.substr(0, plain);
    if (stop == text.end()) break;
    append_escape(out, *stop);
    text.remove_prefix(plain + 1);
  }
  out += '"';
}

void append_json_number(std::string& out, double value) {
  std::array<char, 32> buffer{};  // the shortest form has at most 24 characters
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void append_json_integer(std::string& out, std::int64_t value) {
  std::array<char, 24> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  out.append(buffer.data(), end);
}

void append_json_metric(std::string& out, std::string_view name, const MetricValue& value,
                        NonFinite& non_finite) {
  const MetricValue::Variant& variant = value.variant();
  if (const auto* number = std::get_if<double>(&variant)) {
    if (std::isfinite(*number)) return append_json_number(out, *number);
    non_finite.add(name, *number);
    out += "null";
  } else if (const auto* integer = std::get_if<std::int64_t>(&variant)) {
    append_json_integer(out, *integer);
  } else if (const auto* boolean = std::get_if<bool>(&variant)) {
    out += *boolean ? "true" : "false";
  } else {
    append_json_text(out, std::get<std::string>(variant));
  }
}

void append_json_metrics(std::string& out, const Metrics& metrics, NonFinite& non_finite) {
  out += '{';
  for (const auto& [name, value] : metrics) {
    append_json_text(out, name);
    out += ':';
    append_json_metric(out, name, value, non_finite);
    out += ',';
  }
  if (metrics.empty()) {
    out += '}';
  } else {
    out.back() = '}';
  }
}

void append_json(std::string& out, const Json& value, const std::string& place,
                 NonFinite& non_finite) {
  if (value.is_object() && !value.empty()) {
    char separator = '{';
    for (const auto& [name, element] : value.items()) {
      out += separator;
      append_json_text(out, name);
      out += ':';
      append_json(out, element, place_below(place, name), non_finite);
      separator = ',';
    }
    out += '}';
  } else if (value.is_array() && !value.empty()) {
    char separator = '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      out += separator;
      append_json(out, value[i], place_below(place, std::to_string(i)), non_finite);
      separator = ',';
    }
    out += ']';
  } else if (value.is_string()) {
    append_json_text(out, value.get_ref<const std::string&>());
  } else if (value.is_number_float()) {
    append_json_metric(out, place, value.get<double>(), non_finite);
  } else {
    out += value.dump();  // null, a boolean, an integer, an empty object or array
  }
}

ExactText exact_text(const Metrics& metrics) {
  NonFinite non_finite;
  std::string json;
  append_json_metrics(json, metrics, non_finite);
  return {std::move(json), non_finite.text()};
}

ExactText exact_text(const Json& value) {
  NonFinite non_finite;
  std::string json;
  append_json(json, value, "", non_finite);
  return {std::move(json), non_finite.text()};
}

Metrics metrics_of_text(std::string_view json, std::string_view non_finite) {
  try {
    const auto members = OrderedJson::parse(json);
    const auto special =
        non_finite.empty() ? OrderedJson::object() : OrderedJson::parse(non_finite);
    Metrics metrics;
    for (const auto& [name, value] : members.items()) {
      if (value.is_null() && special.contains(name)) {
        metrics.set(name, non_finite_value(special.at(name).get_ref<const std::string&>()));
      } else {
        metrics.set(name, metric_of(name, value));
      }
    }
    return metrics;
  } catch (const std::exception& error) {
    throw std::runtime_error("metrics " + std::string(json) + ": " + error.what());
  }
}

Json json_of_text(std::string_view json, std::string_view non_finite) {
  try {
    Json value = Json::parse(json);
    if (non_finite.empty()) return value;
    const Json special = Json::parse(non_finite);
    for (const auto& [place, text] : special.items()) {
      const std::string pointer = place.empty() ? place : "/" + place;
      value.at(Json::json_pointer(pointer)) = non_finite_value(text.get_ref<const std::string&>());
    }
    return value;
  } catch (const std::exception& error) {
    throw std::runtime_error("JSON text " + std::string(json) + ": " + error.what());
  }
}

void JsonLine::begin_member(std::string_view name) {
  if (text_.size() > 1) text_ += ',';
  text_ += '"';
  text_ += name;
  text_ += "\":";
}

void JsonLine::add(std::string_view name, std::string_view text) {
  begin_member(name);
  append_json_text(text_, text);
}

void JsonLine::add(std::string_view name, std::int64_t value) {
  begin_member(name);
  append_json_integer(text_, value);
}

void JsonLine::add(std::string_view name, double value) {
  begin_member(name);
  append_json_metric(text_, name, value, non_finite_);
}

void JsonLine::add(std::string_view name, const Config& config) {
  begin_member(name);
  append_json(text_, config.json(), std::string(name), non_finite_);
}

void JsonLine::add(std::string_view name, const Metrics& metrics) {
  begin_member(name);
  append_json_metrics(text_, metrics, non_finite_);
}

const std::string& JsonLine::finish() {
  non_finite_.append_member(text_);
  return text_ += "}\n";
}

}  // namespace tune::core
