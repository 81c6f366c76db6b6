#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tune/json.hpp>

namespace tune {

/// A metric: a boolean, a 64-bit integer, a double or text.
class MetricValue {
 public:
  using Variant = std::variant<bool, std::int64_t, double, std::string>;

  MetricValue() : value_(0.0) {}
  /// Exactly bool, so that no pointer becomes true.
  template <std::same_as<bool> T>
  MetricValue(T value) : value_(value) {}
  /// @throws std::out_of_range for an unsigned value above the largest int64.
  template <std::integral T>
  requires(!std::same_as<T, bool>) MetricValue(T value) : value_(checked(value)) {}
  MetricValue(float value) : value_(static_cast<double>(value)) {}
  MetricValue(double value) : value_(value) {}
  MetricValue(const char* text) : value_(std::string(text)) {}
  MetricValue(std::string_view text) : value_(std::string(text)) {}
  MetricValue(std::string text) : value_(std::move(text)) {}

  [[nodiscard]] const Variant& variant() const { return value_; }
  [[nodiscard]] bool is_number() const { return !std::holds_alternative<std::string>(value_); }
  /// The value as a double; booleans are 0 and 1. @throws std::invalid_argument for text.
  [[nodiscard]] double as_double() const;
  /// "boolean", "integer", "double" or "text".
  [[nodiscard]] std::string_view type_name() const;
  /// As JSON; a double that is not finite stays one (nlohmann::json writes it as null).
  [[nodiscard]] Json json() const;
  /// Typed: 1 is not 1.0; NaN equals NaN.
  friend bool operator==(const MetricValue& a, const MetricValue& b);

 private:
  template <class T>
  static std::int64_t checked(T value) {
    if constexpr (std::unsigned_integral<T> && sizeof(T) >= sizeof(std::int64_t)) {
      if (value > static_cast<T>(INT64_MAX)) out_of_range(value);
    }
    return static_cast<std::int64_t>(value);
  }
  [[noreturn]] static void out_of_range(std::uint64_t value);

  Variant value_;
};

/// Named metrics of one result, in the order in which they were first set.
///
/// Nested braces are flattened with '/': `{{"eval", {{"acc", 0.9}}}}` has the name "eval/acc".
class Metrics {
 public:
  struct Entry;
  using Item = std::pair<std::string, MetricValue>;

  Metrics() = default;
  Metrics(std::initializer_list<Entry> entries);
  /// From a JSON object, flattened; arrays and null become their JSON text.
  /// @throws std::invalid_argument if it is not an object.
  [[nodiscard]] static Metrics from_json(const Json& object);

  /// Sets `name`; a later value replaces the earlier one in its place.
  void set(std::string_view name, MetricValue value);
  void erase(std::string_view name);
  /// The value under `name`, made (0.0) if absent.
  MetricValue& operator[](std::string_view name);
  /// @throws std::out_of_range naming the missing name and those present.
  [[nodiscard]] const MetricValue& at(std::string_view name) const;
  /// Null if absent.
  [[nodiscard]] const MetricValue* find(std::string_view name) const;
  [[nodiscard]] bool contains(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] auto begin() const { return items_.begin(); }
  [[nodiscard]] auto end() const { return items_.end(); }
  /// The names, joined by ", ", for error messages.
  [[nodiscard]] std::string names() const;
  friend bool operator==(const Metrics&, const Metrics&) = default;

 private:
  std::vector<Item> items_;  // few: a linear search beats a tree
};

struct Metrics::Entry {
  template <class T>
  requires std::constructible_from<MetricValue, T> Entry(std::string name, T&& value)
      : name(std::move(name)), value(MetricValue(std::forward<T>(value))) {}
  Entry(std::string name, std::initializer_list<Entry> nested)
      : name(std::move(name)), nested(Metrics(nested)) {}
  Entry(std::string name, Metrics nested) : name(std::move(name)), nested(std::move(nested)) {}

  std::string name;
  MetricValue value;
  std::optional<Metrics> nested;  // used instead of `value` if set
};

}  // namespace tune
