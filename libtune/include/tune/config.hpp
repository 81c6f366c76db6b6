#pragma once

#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tune/json.hpp>

namespace tune {

/// True if both hold the same values of the same types: 1 is not 1.0, NaN is NaN, -0.0 is not 0.0.
[[nodiscard]] bool is_identical(const Json& a, const Json& b);

/// A value inside a Config; knows its path for error messages.
class ConfigValue {
 public:
  /// The value as `T`, refusing what would lose information.
  ///
  /// bool from a boolean; an integer type from an integer (or a double without fraction) in its
  /// range; double from a number that it holds exactly; float from a number in its range (rounded);
  /// std::string from text; std::vector<T> from an array; Json from anything.
  /// @throws std::invalid_argument naming the parameter, its value and the type asked for.
  template <class T>
  [[nodiscard]] T get() const;

  /// A nested value. @throws std::out_of_range naming the key and those present.
  [[nodiscard]] ConfigValue operator[](std::string_view key) const;
  [[nodiscard]] bool contains(std::string_view key) const;
  [[nodiscard]] const Json& json() const { return *value_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  friend class Config;
  ConfigValue(std::shared_ptr<const Json> root, const Json* value, std::string path)
      : root_(std::move(root)), value_(value), path_(std::move(path)) {}

  [[nodiscard]] bool as_bool() const;
  [[nodiscard]] std::int64_t as_integer(std::int64_t low, std::int64_t high) const;
  [[nodiscard]] std::uint64_t as_unsigned(std::uint64_t high) const;
  [[nodiscard]] double as_double() const;
  [[nodiscard]] float as_float() const;
  [[nodiscard]] std::string as_string() const;
  [[nodiscard]] std::vector<ConfigValue> as_array() const;

  std::shared_ptr<const Json> root_;  // keeps the value alive
  const Json* value_;
  std::string path_;
};

/// The parameters of one trial: an immutable JSON object with checked access. Cheap to copy.
class Config {
 public:
  Config();
  /// @throws std::invalid_argument if `object` is not a JSON object.
  explicit Config(Json object);

  /// @throws std::out_of_range naming the missing key and those present.
  [[nodiscard]] ConfigValue operator[](std::string_view key) const { return at(key); }
  [[nodiscard]] ConfigValue at(std::string_view key) const;
  [[nodiscard]] bool contains(std::string_view key) const;
  [[nodiscard]] bool empty() const { return json_->empty(); }
  [[nodiscard]] std::string dump(int indent = -1) const;
  [[nodiscard]] const Json& json() const { return *json_; }

  /// Typed equality, see is_identical().
  friend bool operator==(const Config& a, const Config& b);
  friend std::ostream& operator<<(std::ostream& out, const Config& config);

 private:
  std::shared_ptr<const Json> json_;  // shared by the copies of this Config and their values
};

namespace detail {
template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};
}  // namespace detail

template <class T>
T ConfigValue::get() const {
  if constexpr (std::same_as<T, bool>) {
    return as_bool();
  } else if constexpr (std::signed_integral<T>) {
    return static_cast<T>(as_integer(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else if constexpr (std::unsigned_integral<T>) {
    return static_cast<T>(as_unsigned(std::numeric_limits<T>::max()));
  } else if constexpr (std::same_as<T, double>) {
    return as_double();
  } else if constexpr (std::same_as<T, float>) {
    return as_float();
  } else if constexpr (std::same_as<T, std::string>) {
    return as_string();
  } else if constexpr (std::same_as<T, Json>) {
    return *value_;
  } else if constexpr (detail::is_vector<T>::value) {
    T values;
    for (const ConfigValue& element : as_array()) {
      values.push_back(element.template get<typename T::value_type>());
    }
    return values;
  } else {
    static_assert(!sizeof(T),
                  "Config holds bool, integers, double, float, std::string, "
                  "std::vector of these, and Json");
  }
}

}  // namespace tune
