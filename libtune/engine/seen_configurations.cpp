#include "seen_configurations.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <tune/random.hpp>

namespace tune::engine {
namespace {

// One step of a chain that depends on all bytes and their places.
std::uint64_t mixed(std::uint64_t state, std::uint64_t block) {
  return Random(state ^ block).next();
}

}  // namespace

ConfigurationKey configuration_key(const Json& config) {
  // CBOR is typed, and an object's keys are sorted.
  const std::vector<std::uint8_t> bytes = Json::to_cbor(config);
  ConfigurationKey key{.high = 1, .low = 2};
  for (std::size_t begin = 0; begin < bytes.size(); begin += 8) {
    std::uint64_t block = 0;
    const std::size_t end = std::min(begin + 8, bytes.size());
    for (std::size_t i = begin; i < end; ++i) block = (block << 8U) | bytes[i];
    key.high = mixed(key.high, block);
    // The two chains see different blocks, so that they do not collide together.
    key.low = mixed(key.low, ~block * 0x9E3779B97F4A7C15U);
  }
  key.high = mixed(key.high, bytes.size());
  key.low = mixed(key.low, bytes.size());
  return key;
}

Json SeenConfigurations::save() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> sorted;
  sorted.reserve(keys_.size());
  for (const ConfigurationKey& key : keys_) sorted.emplace_back(key.high, key.low);
  std::sort(sorted.begin(), sorted.end());
  Json state = Json::array();
  for (const auto& [high, low] : sorted) {
    state.push_back(high);
    state.push_back(low);
  }
  return state;
}

void SeenConfigurations::restore(const Json& state) {
  keys_.clear();
  for (std::size_t i = 0; i + 1 < state.size(); i += 2) {
    keys_.insert(
        {.high = state.at(i).get<std::uint64_t>(), .low = state.at(i + 1).get<std::uint64_t>()});
  }
}

}  // namespace tune::engine
