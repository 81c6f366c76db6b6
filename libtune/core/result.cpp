#include <tune/result.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace tune {
namespace {

// Fields of result.json that the framework fills, as readers of Ray Tune's results know them.
constexpr std::array<std::string_view, 16> reserved_fields = {"training_iteration",
                                                              "time_this_iter_s",
                                                              "time_total_s",
                                                              "time_since_restore",
                                                              "iterations_since_restore",
                                                              "timestamp",
                                                              "date",
                                                              "trial_id",
                                                              "experiment_id",
                                                              "experiment_tag",
                                                              "hostname",
                                                              "node_ip",
                                                              "pid",
                                                              "config",
                                                              "checkpoint_dir_name",
                                                              "nonfinite"};

template <std::size_t length>
bool is_same(std::string_view field, const char (&name)[length]) {
  return field.size() == length - 1 && std::memcmp(field.data(), name, length - 1) == 0;
}

}  // namespace

std::optional<double> Result::number(std::string_view field) const {
  // Asked several times for each result: told apart by length, and compared in a few instructions.
  if (is_same(field, "training_iteration")) return static_cast<double>(training_iteration);
  if (is_same(field, "time_this_iter_s")) return time_this_iter_s;
  if (is_same(field, "time_total_s")) return time_total_s;
  if (is_same(field, "timestamp")) return timestamp;
  const MetricValue* value = metrics.find(field);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->as_double();
}

bool is_reserved_field(std::string_view name) {
  // Nested metrics come flattened: "config/lr" would stand where the configuration does.
  const std::string_view first = name.substr(0, name.find('/'));
  return std::find(reserved_fields.begin(), reserved_fields.end(), first) != reserved_fields.end();
}

}  // namespace tune
