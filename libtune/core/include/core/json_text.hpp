#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tune/config.hpp>
#include <tune/json.hpp>
#include <tune/metrics.hpp>

namespace tune::core {

/// "inf", "-inf" or "nan". @pre `value` is not finite
[[nodiscard]] std::string_view non_finite_text(double value);
/// The inverse. @throws std::invalid_argument for another text.
[[nodiscard]] double non_finite_value(std::string_view text);

/// The values that JSON has no text for, by their place: a metric's name, or the names on the way
/// to a parameter joined by '/' ('~' and '/' within a name escaped as in a JSON pointer).
class NonFinite {
 public:
  void add(std::string_view place, double value);
  void clear() { values_.clear(); }
  [[nodiscard]] bool empty() const { return values_.empty(); }
  /// Appends `,"nonfinite":{"loss":"inf"}`, or nothing if there are none.
  void append_member(std::string& out) const;
  /// The object alone; empty if there are none.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string_view>> values_;
};

/// `text` if it is UTF-8, else a copy in `scratch` with U+FFFD in place of each wrong byte.
[[nodiscard]] std::string_view as_utf8(std::string_view text, std::string& scratch);

// Each appends strict JSON (RFC 8259) to `out`.

/// A string with its quotes.
void append_json_text(std::string& out, std::string_view text);
/// The shortest text that reads back as exactly `value`, and as a double: 5.0, 1e+20.
/// @pre `value` is finite
void append_json_number(std::string& out, double value);
void append_json_integer(std::string& out, std::int64_t value);
/// A metric; one that is not finite is null and goes into `non_finite`.
void append_json_metric(std::string& out, std::string_view name, const MetricValue& value,
                        NonFinite& non_finite);
/// An object of metrics, likewise.
void append_json_metrics(std::string& out, const Metrics& metrics, NonFinite& non_finite);
/// Any JSON that stands at `place`; what is not finite is null and goes into `non_finite`.
void append_json(std::string& out, const Json& value, const std::string& place,
                 NonFinite& non_finite);

/// JSON text that keeps values exactly: what is not finite is null in `json`, and `non_finite` says
/// what it is, as an object {"loss":"inf"} by NonFinite's places; empty if all is finite.
struct ExactText {
  std::string json;
  std::string non_finite;
};
[[nodiscard]] ExactText exact_text(const Metrics& metrics);
[[nodiscard]] ExactText exact_text(const Json& value);
// The inverses. @throws std::runtime_error if it is no such text.
[[nodiscard]] Metrics metrics_of_text(std::string_view json, std::string_view non_finite);
[[nodiscard]] Json json_of_text(std::string_view json, std::string_view non_finite);

/// Builds one line with one object. Names must need no escapes.
class JsonLine {
 public:
  void add(std::string_view name, std::string_view text);
  void add(std::string_view name, std::int64_t value);
  void add(std::string_view name, double value);
  /// A configuration; what is not finite goes into the member "nonfinite", see NonFinite.
  void add(std::string_view name, const Config& config);
  /// An object of metrics, likewise, but there by their names alone.
  void add(std::string_view name, const Metrics& metrics);
  /// The whole line. No more may be added.
  [[nodiscard]] const std::string& finish();

 private:
  void begin_member(std::string_view name);

  std::string text_ = "{";
  NonFinite non_finite_;
};

}  // namespace tune::core
