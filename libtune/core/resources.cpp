#include <tune/resources.hpp>

#include <array>
#include <cmath>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <tune/error.hpp>

#include "core/number_text.hpp"

namespace tune {
namespace {

constexpr std::array<std::string_view, 3> known_resources = {"cpu", "gpu", "memory"};

[[noreturn]] void refuse_amount(const std::string& name, double value, const std::string& wanted) {
  throw std::invalid_argument(name + " is " + core::number_text(value) + ", want " + wanted);
}

std::int64_t thousandths(const std::string& name, double value) {
  constexpr double largest = 1e9;  // up to here a double tells thousandths apart with room to spare
  if (!std::isfinite(value) || value < 0) refuse_amount(name, value, "a number from 0");
  if (value > largest) refuse_amount(name, value, "at most " + core::number_text(largest));
  const double rounded = std::round(value * 1000);
  if (std::abs(value - rounded / 1000) > 1e-9) refuse_amount(name, value, "a multiple of 0.001");
  return static_cast<std::int64_t>(rounded);
}

std::int64_t memory_bytes(const std::string& name, std::uint64_t memory) {
  if (!std::in_range<std::int64_t>(memory)) {
    throw std::invalid_argument(name + " is " + std::to_string(memory) + " bytes, want at most " +
                                std::to_string(INT64_MAX));
  }
  return static_cast<std::int64_t>(memory);
}

// `place` stands before the names in messages.
void set_custom_resources(ResourceAmounts& amounts, const std::string& place,
                          const std::map<std::string, double>& custom) {
  for (const auto& [name, value] : custom) {
    if (name.empty()) throw std::invalid_argument("a custom resource needs a name");
    for (const std::string_view known : known_resources) {
      if (name == known) {
        throw std::invalid_argument("custom resource " + name +
                                    ": set the field of that name instead");
      }
    }
    amounts.set(name, thousandths(place + name, value));
  }
}

std::string thousandths_text(std::int64_t amount) {
  std::string text = std::to_string(amount / 1000);
  if (amount % 1000 == 0) return text;
  std::string fraction = std::to_string(1000 + amount % 1000).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return text + "." + fraction;
}

/// Exact if that is short, "4 GiB" or "1025 bytes"; else rounded down, "23.54 GiB".
std::string memory_text(std::int64_t bytes) {
  constexpr std::array<std::pair<int, std::string_view>, 4> units = {
      {{30, " GiB"}, {20, " MiB"}, {10, " KiB"}, {0, " bytes"}}};
  constexpr std::int64_t most_exact = 9999;
  for (const auto& [shift, unit] : units) {
    const std::int64_t size = std::int64_t{1} << shift;
    const std::int64_t whole = bytes / size;
    if (bytes % size == 0 && (whole <= most_exact || shift == 30)) {
      return std::to_string(whole) + std::string(unit);
    }
  }
  for (const auto& [shift, unit] : units) {
    const std::int64_t size = std::int64_t{1} << shift;
    if (bytes < size) continue;
    const std::int64_t hundredths = bytes % size * 100 / size;
    return std::to_string(bytes / size) + (hundredths < 10 ? ".0" : ".") +
           std::to_string(hundredths) + std::string(unit);
  }
  return std::to_string(bytes) + " bytes";
}

void append_amount(std::string& text, const std::string& name, std::int64_t amount) {
  if (!text.empty()) text += ", ";
  text += (name == "memory" ? memory_text(amount) : thousandths_text(amount)) + " " + name;
}

}  // namespace

ResourceAmounts::ResourceAmounts(const Resources& resources)
    : ResourceAmounts(Bundle{.cpu = resources.cpu,
                             .gpu = resources.gpu,
                             .memory = resources.memory,
                             .custom = resources.custom},
                      "resource ") {}

ResourceAmounts::ResourceAmounts(const Bundle& bundle, const std::string& place) {
  set("cpu", thousandths(place + "cpu", bundle.cpu));
  const std::int64_t gpu = thousandths(place + "gpu", bundle.gpu);
  if (gpu > 1000 && gpu % 1000 != 0) {
    refuse_amount(place + "gpu", bundle.gpu, "a fraction of one device or a whole number of them");
  }
  set("gpu", gpu);
  set("memory", memory_bytes(place + "memory", bundle.memory));
  set_custom_resources(*this, place, bundle.custom);
}

ResourceAmounts::ResourceAmounts(const LocalResources& resources) {
  set("cpu", thousandths("local.cpus", resources.cpus));
  // Nothing was looked for: none.
  const std::int64_t gpu = resources.gpus < 0 ? 0 : thousandths("local.gpus", resources.gpus);
  if (gpu % 1000 != 0) refuse_amount("local.gpus", resources.gpus, "a whole number of devices");
  set("gpu", gpu);
  set("memory", memory_bytes("local.memory", resources.memory));
  set_custom_resources(*this, "local.custom.", resources.custom);
}

std::int64_t ResourceAmounts::amount(const std::string& name) const {
  const auto found = amounts_.find(name);
  return found == amounts_.end() ? 0 : found->second;
}

void ResourceAmounts::set(const std::string& name, std::int64_t amount) {
  TUNE_ASSERT(amount >= 0);
  if (amount == 0) {
    amounts_.erase(name);
  } else {
    amounts_[name] = amount;
  }
}

bool ResourceAmounts::covers(const ResourceAmounts& request) const {
  for (const auto& [name, wanted] : request.amounts_) {
    if (amount(name) < wanted) return false;
  }
  return true;
}

ResourceAmounts& ResourceAmounts::operator+=(const ResourceAmounts& other) {
  for (const auto& [name, more] : other.amounts_) amounts_[name] += more;
  return *this;
}

ResourceAmounts& ResourceAmounts::operator-=(const ResourceAmounts& other) {
  TUNE_ASSERT(covers(other));
  if (this == &other) {
    amounts_.clear();
    return *this;
  }
  for (const auto& [name, less] : other.amounts_) set(name, amount(name) - less);
  return *this;
}

std::string ResourceAmounts::describe() const {
  std::string text;
  for (const std::string_view known : known_resources) {
    const std::string name(known);
    if (amount(name) != 0) append_amount(text, name, amount(name));
  }
  for (const auto& [name, value] : amounts_) {
    if (name != "cpu" && name != "gpu" && name != "memory") append_amount(text, name, value);
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace tune
