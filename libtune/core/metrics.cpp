#include <tune/metrics.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "core/number_text.hpp"

namespace tune {
namespace {

MetricValue metric_from_json(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_unsigned() && !std::in_range<std::int64_t>(value.get<std::uint64_t>())) {
    return value.get<double>();  // what a program prints is kept, if not to the last digit
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void flatten_into(Metrics& metrics, const Json& object, const std::string& prefix) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) {
      flatten_into(metrics, value, prefix + name + "/");
    } else {
      metrics.set(prefix + name, metric_from_json(value));
    }
  }
}

auto find_metric(auto& items, std::string_view name) {
  return std::find_if(items.begin(), items.end(),
                      [name](const Metrics::Item& item) { return item.first == name; });
}

}  // namespace

void MetricValue::out_of_range(std::uint64_t value) {
  throw std::out_of_range("metric value " + std::to_string(value) + " is above the largest " +
                          std::to_string(INT64_MAX) + "; report it as a double or text");
}

double MetricValue::as_double() const {
  if (const auto* boolean = std::get_if<bool>(&value_)) return *boolean ? 1 : 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value_)) {
    return static_cast<double>(*integer);
  }
  if (const auto* number = std::get_if<double>(&value_)) return *number;
  throw std::invalid_argument("metric value " + core::value_text(json()) +
                              " is text, not a number");
}

std::string_view MetricValue::type_name() const {
  constexpr std::array<std::string_view, 4> names = {"boolean", "integer", "double", "text"};
  return names.at(value_.index());
}

Json MetricValue::json() const {
  return std::visit([](const auto& value) { return Json(value); }, value_);
}

bool operator==(const MetricValue& a, const MetricValue& b) {
  const auto* x = std::get_if<double>(&a.value_);
  const auto* y = std::get_if<double>(&b.value_);
  if (x != nullptr && y != nullptr && std::isnan(*x) && std::isnan(*y)) return true;
  return a.value_ == b.value_;
}

Metrics::Metrics(std::initializer_list<Entry> entries) {
  items_.reserve(entries.size());
  for (const Entry& entry : entries) {
    if (!entry.nested) {
      set(entry.name, entry.value);
      continue;
    }
    for (const auto& [name, value] : *entry.nested) set(entry.name + "/" + name, value);
  }
}

Metrics Metrics::from_json(const Json& object) {
  if (!object.is_object()) {
    throw std::invalid_argument("metrics must be a JSON object, are " + core::value_text(object));
  }
  Metrics metrics;
  flatten_into(metrics, object, "");
  return metrics;
}

void Metrics::set(std::string_view name, MetricValue value) { (*this)[name] = std::move(value); }

void Metrics::erase(std::string_view name) {
  const auto found = find_metric(items_, name);
  if (found != items_.end()) items_.erase(found);
}

MetricValue& Metrics::operator[](std::string_view name) {
  const auto found = find_metric(items_, name);
  if (found != items_.end()) return found->second;
  return items_.emplace_back(std::string(name), MetricValue()).second;
}

const MetricValue& Metrics::at(std::string_view name) const {
  if (const MetricValue* value = find(name)) return *value;
  throw std::out_of_range("no metric " + core::value_text(name) +
                          "; there are: " + (empty() ? "none" : names()));
}

const MetricValue* Metrics::find(std::string_view name) const {
  const auto found = find_metric(items_, name);
  return found == items_.end() ? nullptr : &found->second;
}

std::string Metrics::names() const {
  std::string names;
  for (const auto& [name, value] : items_) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace tune
