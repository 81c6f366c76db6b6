#include <tune/trial.hpp>

#include <array>
#include <cstddef>
#include <stdexcept>

#include "core/number_text.hpp"

namespace tune {
namespace {

constexpr std::array<std::string_view, 5> trial_state_names = {"pending", "running", "paused",
                                                               "terminated", "error"};
constexpr std::size_t directory_name_limit = 128;  // bytes; file systems allow 255
constexpr std::size_t value_limit = 32;            // bytes of one value within the name

bool is_safe_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '=' || c == '-';
}

// Appends to a name with all that is not safe in a file name replaced, a run of it by one '_'.
void append_safe(std::string& name, std::string_view text, std::size_t limit) {
  for (const char c : text) {
    if (name.size() >= limit) return;
    if (is_safe_in_name(c)) {
      name += c;
    } else if (name.empty() || name.back() != '_') {
      name += '_';
    }
  }
}

// 0.0001234 and 1.234e-5: four digits, and no '+' or zeros in the exponent.
std::string short_number(double value) {
  std::string text = core::number_text(value, 4);
  const std::size_t exponent = text.find('e');
  if (exponent == std::string::npos) return text;
  std::size_t digits = exponent + 1;
  if (text[digits] == '+') text.erase(digits, 1);
  if (text[digits] == '-') ++digits;
  text.erase(digits, text.find_first_not_of('0', digits) - digits);
  return text;
}

void append_value(std::string& name, const Json& value, std::size_t limit) {
  if (value.is_string()) {
    append_safe(name, value.get_ref<const std::string&>(), limit);
  } else if (value.is_number_float()) {
    append_safe(name, short_number(value.get<double>()), limit);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size() && name.size() < limit; ++i) {
      if (i > 0) name += '-';
      append_value(name, value[i], limit);
    }
  } else {
    // An integer, a boolean, null, an object in an array.
    append_safe(name, value.dump(-1, ' ', false, Json::error_handler_t::replace), limit);
  }
}

// Appends `_name=value` for each parameter; false once one does not fit.
bool append_parameters(std::string& name, const Json& object, const std::string& prefix) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object() && !value.empty()) {
      if (!append_parameters(name, value, prefix + key + ".")) return false;
      continue;
    }
    std::string part = "_";
    append_safe(part, prefix + key, directory_name_limit);
    part += '=';
    append_value(part, value, part.size() + value_limit);
    if (name.size() + part.size() > directory_name_limit) return false;
    name += part;
  }
  return true;
}

}  // namespace

std::string_view to_string(TrialState state) {
  return trial_state_names.at(static_cast<std::size_t>(state));
}

std::int64_t& TrialCounts::of(TrialState state) {
  switch (state) {
    case TrialState::pending:
      return pending;
    case TrialState::running:
      return running;
    case TrialState::paused:
      return paused;
    case TrialState::terminated:
      return terminated;
    case TrialState::error:
      break;
  }
  return error;
}

TrialState trial_state_from_string(std::string_view text) {
  std::string allowed;
  for (std::size_t i = 0; i < trial_state_names.size(); ++i) {
    if (trial_state_names[i] == text) return static_cast<TrialState>(i);
    allowed += (i == 0 ? "" : ", ") + std::string(trial_state_names[i]);
  }
  throw std::invalid_argument("trial state " + core::value_text(std::string(text)) +
                              " is unknown; there are: " + allowed);
}

std::string trial_directory_name(TrialId id, const Config& config) {
  std::string name = std::to_string(id.value());
  if (name.size() < 5) name.insert(0, 5 - name.size(), '0');
  append_parameters(name, config.json(), "");
  return name;
}

}  // namespace tune
