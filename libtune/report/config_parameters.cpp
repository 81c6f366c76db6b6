#include "report/config_parameters.hpp"

namespace tune::report {
namespace {

constexpr std::size_t large_bytes = 4096;

void flatten_parameters(const Json& object, const std::string& prefix,
                        std::vector<std::pair<std::string, const Json*>>& flat) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object() && !value.empty()) {
      flatten_parameters(value, prefix + name + "/", flat);
    } else {
      flat.emplace_back(prefix + name, &value);
    }
  }
}

bool is_large(const Json& value) {
  if (!value.is_string() && !value.is_array()) return false;
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).size() >= large_bytes;
}

}  // namespace

std::vector<std::pair<std::string, const Json*>> flat_parameters(const Json& config) {
  std::vector<std::pair<std::string, const Json*>> flat;
  flatten_parameters(config, "", flat);
  return flat;
}

Json without_large_parameters(const Json& config) {
  Json kept = Json::object();
  for (const auto& [name, value] : config.items()) {
    if (value.is_object()) {
      Json part = without_large_parameters(value);
      if (!part.empty() || value.empty()) kept[name] = std::move(part);
    } else if (!is_large(value)) {
      kept[name] = value;
    }
  }
  return kept;
}

}  // namespace tune::report
