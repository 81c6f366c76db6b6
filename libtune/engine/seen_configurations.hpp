#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include <tune/json.hpp>

namespace tune::engine {

/// A typed fingerprint of a configuration: 1, 1.0 and "1" differ. Two of 128 bits that are equal by
/// chance would cost one redraw; among a million trials that has a probability below 1e-26.
struct ConfigurationKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const ConfigurationKey&, const ConfigurationKey&) = default;
};
[[nodiscard]] ConfigurationKey configuration_key(const Json& config);

/// The configurations that trials already have.
class SeenConfigurations {
 public:
  void insert(ConfigurationKey key) { keys_.insert(key); }
  [[nodiscard]] bool contains(ConfigurationKey key) const { return keys_.contains(key); }
  [[nodiscard]] std::size_t size() const { return keys_.size(); }
  [[nodiscard]] Json save() const;
  void restore(const Json& state);

 private:
  struct Hash {
    std::size_t operator()(const ConfigurationKey& key) const { return key.low; }
  };
  std::unordered_set<ConfigurationKey, Hash> keys_;
};

}  // namespace tune::engine
