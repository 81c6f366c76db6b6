#include "core/option_reader.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <tune/config.hpp>

#include "core/number_text.hpp"

namespace tune::core {

OptionReader::OptionReader(std::string owner, const Json& options)
    : owner_(std::move(owner)), options_(options) {
  if (!options_.is_object()) {
    throw std::invalid_argument(owner_ + ": options must be a JSON object, are " +
                                value_text(options_));
  }
}

void OptionReader::read(std::string_view key, bool& value) {
  const Json* given = find(key);
  if (given == nullptr) return;
  if (!given->is_boolean()) refuse(key, *given, "true or false");
  value = given->get<bool>();
}

void OptionReader::read(std::string_view key, std::int64_t& value) {
  const Json* given = find(key);
  if (given == nullptr) return;
  if (!given->is_number()) refuse(key, *given, "an integer");
  try {
    value = Config(Json{{"value", *given}}).at("value").get<std::int64_t>();
  } catch (const std::invalid_argument&) {
    refuse(key, *given, "an integer of 64 bits");
  }
}

void OptionReader::read(std::string_view key, double& value) {
  const Json* given = find(key);
  if (given == nullptr) return;
  if (!given->is_number()) refuse(key, *given, "a number");
  value = given->get<double>();
}

void OptionReader::read(std::string_view key, std::string& value) {
  const Json* given = find(key);
  if (given == nullptr) return;
  if (!given->is_string()) refuse(key, *given, "text");
  value = given->get<std::string>();
}

void OptionReader::read(std::string_view key, std::optional<Mode>& value) {
  const Json* given = find(key);
  if (given == nullptr) return;
  if (given->is_null()) {
    value.reset();
  } else if (*given == to_string(Mode::min)) {
    value = Mode::min;
  } else if (*given == to_string(Mode::max)) {
    value = Mode::max;
  } else {
    refuse(key, *given, R"("min" or "max")");
  }
}

void OptionReader::read(std::string_view key, Json& value) {
  if (const Json* given = find(key)) value = *given;
}

void OptionReader::finish() const {
  for (const auto& [key, value] : options_.items()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    std::string allowed;
    for (const std::string& known : known_) allowed += (allowed.empty() ? "" : ", ") + known;
    throw std::invalid_argument(owner_ + ": unknown option " + value_text(key) + ": " +
                                value_text(value) +
                                "; there are: " + (allowed.empty() ? "none" : allowed));
  }
}

const Json* OptionReader::find(std::string_view key) {
  known_.emplace_back(key);
  const auto found = options_.find(key);
  return found == options_.end() ? nullptr : &*found;
}

void OptionReader::refuse(std::string_view key, const Json& value, const char* wanted) const {
  throw std::invalid_argument(owner_ + ": " + std::string(key) + " is " + value_text(value) +
                              ", want " + wanted);
}

}  // namespace tune::core
