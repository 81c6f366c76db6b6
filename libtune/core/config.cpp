#include <tune/config.hpp>

#include <bit>
#include <cmath>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "core/number_text.hpp"

namespace tune {
namespace {

using core::value_text;

// The value counts, not whether it is held signed or unsigned.
bool is_equal_integer(const Json& a, const Json& b) {
  const auto is_negative = [](const Json& integer) {
    return !integer.is_number_unsigned() && integer.get<std::int64_t>() < 0;
  };
  return is_negative(a) == is_negative(b) && a.get<std::uint64_t>() == b.get<std::uint64_t>();
}

bool is_identical_number(const Json& a, const Json& b) {
  if (a.is_number_float() != b.is_number_float()) return false;
  if (!a.is_number_float()) return is_equal_integer(a, b);
  const auto x = a.get<double>();
  const auto y = b.get<double>();
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
}

bool is_identical_array(const Json& a, const Json& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!is_identical(a[i], b[i])) return false;
  }
  return true;
}

bool is_identical_object(const Json& a, const Json& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.items()) {
    const auto found = b.find(key);
    if (found == b.end() || !is_identical(value, *found)) return false;
  }
  return true;
}

std::string present_keys(const Json& object) {
  std::string keys;
  for (const auto& [key, value] : object.items()) {
    keys += (keys.empty() ? "" : ", ") + value_text(key);
  }
  return keys.empty() ? "none" : keys;
}

[[noreturn]] void refuse_value(const std::string& path, const Json& value,
                               const std::string& wanted) {
  throw std::invalid_argument("parameter " + value_text(path) + " is " + value_text(value) +
                              ", not " + wanted);
}

// A double without fraction that an int64 holds.
bool holds_int64(double value) {
  return value >= -0x1p63 && value < 0x1p63 && value == std::trunc(value);
}

bool holds_uint64(double value) {
  return value >= 0 && value < 0x1p64 && value == std::trunc(value);
}

}  // namespace

bool is_identical(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return is_identical_number(a, b);
  if (a.type() != b.type()) return false;
  if (a.is_array()) return is_identical_array(a, b);
  if (a.is_object()) return is_identical_object(a, b);
  return a == b;
}

ConfigValue ConfigValue::operator[](std::string_view key) const {
  if (!value_->is_object()) {
    throw std::out_of_range("parameter " + value_text(path_) + " is " + value_text(*value_) +
                            ", not an object with a " + value_text(key));
  }
  const auto found = value_->find(key);
  if (found == value_->end()) {
    throw std::out_of_range("parameter " + value_text(path_) + " has no " + value_text(key) +
                            "; it has: " + present_keys(*value_));
  }
  return {root_, &*found, path_ + "/" + std::string(key)};
}

bool ConfigValue::contains(std::string_view key) const {
  return value_->is_object() && value_->contains(key);
}

bool ConfigValue::as_bool() const {
  if (!value_->is_boolean()) refuse_value(path_, *value_, "a boolean");
  return value_->get<bool>();
}

std::int64_t ConfigValue::as_integer(std::int64_t low, std::int64_t high) const {
  const auto refuse = [&]() {
    refuse_value(path_, *value_,
                 "an integer from " + std::to_string(low) + " to " + std::to_string(high));
  };
  std::int64_t integer = 0;
  if (value_->is_number_unsigned()) {
    if (!std::in_range<std::int64_t>(value_->get<std::uint64_t>())) refuse();
    integer = value_->get<std::int64_t>();
  } else if (value_->is_number_integer()) {
    integer = value_->get<std::int64_t>();
  } else if (value_->is_number_float() && holds_int64(value_->get<double>())) {
    integer = static_cast<std::int64_t>(value_->get<double>());
  } else {
    refuse();
  }
  if (integer < low || integer > high) refuse();
  return integer;
}

std::uint64_t ConfigValue::as_unsigned(std::uint64_t high) const {
  const auto refuse = [&]() {
    refuse_value(path_, *value_, "an integer from 0 to " + std::to_string(high));
  };
  std::uint64_t integer = 0;
  if (value_->is_number_unsigned()) {
    integer = value_->get<std::uint64_t>();
  } else if (value_->is_number_integer()) {
    if (value_->get<std::int64_t>() < 0) refuse();
    integer = value_->get<std::uint64_t>();
  } else if (value_->is_number_float() && holds_uint64(value_->get<double>())) {
    integer = static_cast<std::uint64_t>(value_->get<double>());
  } else {
    refuse();
  }
  if (integer > high) refuse();
  return integer;
}

double ConfigValue::as_double() const {
  if (!value_->is_number()) refuse_value(path_, *value_, "a number");
  const auto number = value_->get<double>();
  const bool exact = value_->is_number_float() ||
                     (value_->is_number_unsigned()
                          ? holds_uint64(number) &&
                                static_cast<std::uint64_t>(number) == value_->get<std::uint64_t>()
                          : holds_int64(number) &&
                                static_cast<std::int64_t>(number) == value_->get<std::int64_t>());
  if (!exact) refuse_value(path_, *value_, "a number that a double holds exactly");
  return number;
}

float ConfigValue::as_float() const {
  if (!value_->is_number()) refuse_value(path_, *value_, "a number");
  const auto number = value_->get<double>();
  if (!std::isfinite(number)) return static_cast<float>(number);
  // Beyond the largest float the conversion would have no defined value.
  if (std::abs(number) > static_cast<double>(std::numeric_limits<float>::max())) {
    refuse_value(path_, *value_, "in the range of a float");
  }
  const auto rounded = static_cast<float>(number);
  if (rounded == 0 && number != 0) refuse_value(path_, *value_, "in the range of a float");
  return rounded;
}

std::string ConfigValue::as_string() const {
  if (!value_->is_string()) refuse_value(path_, *value_, "text");
  return value_->get<std::string>();
}

std::vector<ConfigValue> ConfigValue::as_array() const {
  if (!value_->is_array()) refuse_value(path_, *value_, "an array");
  std::vector<ConfigValue> elements;
  elements.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) {
    elements.push_back({root_, &(*value_)[i], path_ + "[" + std::to_string(i) + "]"});
  }
  return elements;
}

Config::Config() : json_(std::make_shared<const Json>(Json::object())) {}

Config::Config(Json object) {
  if (!object.is_object()) {
    throw std::invalid_argument("a configuration must be a JSON object, is " + value_text(object));
  }
  json_ = std::make_shared<const Json>(std::move(object));
}

ConfigValue Config::at(std::string_view key) const {
  const auto found = json_->find(key);
  if (found == json_->end()) {
    throw std::out_of_range("the configuration has no parameter " + value_text(key) +
                            "; it has: " + present_keys(*json_));
  }
  return {json_, &*found, std::string(key)};
}

bool Config::contains(std::string_view key) const { return json_->contains(key); }

std::string Config::dump(int indent) const {
  return json_->dump(indent, ' ', false, Json::error_handler_t::replace);
}

bool operator==(const Config& a, const Config& b) {
  return a.json_ == b.json_ || is_identical(*a.json_, *b.json_);
}

std::ostream& operator<<(std::ostream& out, const Config& config) { return out << config.dump(); }

}  // namespace tune
