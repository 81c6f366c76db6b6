#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <tune/config.hpp>

namespace tune {

/// What a trial asks for. Fractions are kept in exact thousandths.
struct Resources {
  double cpu = 1;            ///< Cores.
  double gpu = 0;            ///< Devices: a fraction of one, or whole ones.
  std::uint64_t memory = 0;  ///< Bytes; 0 asks for none.
  std::map<std::string, double> custom = {};
  /// If set, decides for each configuration; the other fields are then ignored.
  std::function<Resources(const Config&)> of = {};
};

/// What this machine offers.
struct LocalResources {
  double cpus = -1;          ///< Negative: the cores this process may use.
  double gpus = 0;           ///< Devices, numbered from 0; they are not discovered.
  std::uint64_t memory = 0;  ///< Bytes; 0: the machine's.
  std::map<std::string, double> custom = {};
};

/// Quantities in exact thousandths, keyed by resource name ("cpu", "gpu", "memory", custom ones).
/// Memory is in bytes, not thousandths.
class ResourceAmounts {
 public:
  ResourceAmounts() = default;
  /// @throws std::invalid_argument naming a negative, not finite, or too fine value (below a
  /// thousandth), a number of GPUs above 1 that is not whole, and a custom resource without a name
  /// or with that of a field.
  explicit ResourceAmounts(const Resources& resources);
  explicit ResourceAmounts(const LocalResources& resources);

  [[nodiscard]] std::int64_t amount(const std::string& name) const;
  void set(const std::string& name, std::int64_t amount);
  /// True if each amount of `request` is at most the amount here.
  [[nodiscard]] bool covers(const ResourceAmounts& request) const;
  ResourceAmounts& operator+=(const ResourceAmounts& other);
  /// @pre `covers(other)`
  ResourceAmounts& operator-=(const ResourceAmounts& other);
  friend bool operator==(const ResourceAmounts&, const ResourceAmounts&) = default;
  [[nodiscard]] const std::map<std::string, std::int64_t>& amounts() const { return amounts_; }
  /// For people: "2 cpu, 0.5 gpu".
  [[nodiscard]] std::string describe() const;

 private:
  std::map<std::string, std::int64_t> amounts_;  // no zero entries
};

/// What a running trial was given.
struct ResourceGrant {
  ResourceAmounts amounts;
  std::vector<int> gpu_ids;  ///< The devices; one only for a fraction.

  [[nodiscard]] double cpu() const { return static_cast<double>(amounts.amount("cpu")) / 1000; }
  [[nodiscard]] double gpu() const { return static_cast<double>(amounts.amount("gpu")) / 1000; }
};

}  // namespace tune
