#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tune/config.hpp>
#include <tune/ids.hpp>

namespace tune {

/// What a node says of itself, and a request asks of it: {{"zone", "a"}}.
using Labels = std::map<std::string, std::string>;

/// What one worker of a trial gets, all of it on one node; see <tune/trial_workers.hpp>.
struct Bundle {
  double cpu = 1;            ///< Cores.
  double gpu = 0;            ///< Devices: a fraction of one, or whole ones.
  std::uint64_t memory = 0;  ///< Bytes; 0 asks for none.
  std::map<std::string, double> custom = {};
  Labels labels = {};  ///< Its node must have them, beside those of the trial.
};

/// How a trial and its workers are laid out over nodes: Ray's strategies of placement groups.
/// Whatever is chosen, all of them get their place at once or none does.
enum class GangStrategy {
  pack,           ///< On as few nodes as it goes.
  spread,         ///< On as many nodes as it goes, evenly.
  strict_pack,    ///< All on one node, or not at all.
  strict_spread,  ///< Each on a node of its own, or not at all.
};

/// "pack", "spread", "strict_pack" or "strict_spread".
[[nodiscard]] std::string_view to_string(GangStrategy strategy);
/// @throws std::invalid_argument naming the text and what is allowed.
[[nodiscard]] GangStrategy gang_strategy_from_string(std::string_view text);

/// What a trial asks for. Fractions are kept in exact thousandths.
struct Resources {
  double cpu = 1;            ///< Cores.
  double gpu = 0;            ///< Devices: a fraction of one, or whole ones.
  std::uint64_t memory = 0;  ///< Bytes; 0 asks for none.
  std::map<std::string, double> custom = {};
  /// The nodes that it runs on must have all of these; its workers' too.
  Labels labels = {};
  /// What each of its parallel workers gets, beside what the trial gets itself. With them the
  /// request is a gang: all or nothing.
  std::vector<Bundle> workers = {};
  GangStrategy strategy = GangStrategy::pack;  ///< Of a gang.
  /// If set, decides for each configuration; the other fields are then ignored.
  std::function<Resources(const Config&)> of = {};
};

/// What this machine offers.
struct LocalResources {
  double cpus = -1;          ///< Negative: the cores this process may use.
  double gpus = -1;          ///< Devices, numbered from 0. Negative: those that are found.
  std::uint64_t memory = 0;  ///< Bytes; 0: the machine's.
  std::map<std::string, double> custom = {};
  Labels labels = {};  ///< For trials that ask for them.
};

/// Quantities in exact thousandths, keyed by resource name ("cpu", "gpu", "memory", custom ones).
/// Memory is in bytes, not thousandths.
class ResourceAmounts {
 public:
  ResourceAmounts() = default;
  /// Of the trial itself, without its workers.
  /// @throws std::invalid_argument naming a negative, not finite, or too fine value (below a
  /// thousandth), a number of GPUs above 1 that is not whole, and a custom resource without a name
  /// or with that of a field.
  explicit ResourceAmounts(const Resources& resources);
  /// `place` stands before the names in errors: "resource workers[2].".
  ResourceAmounts(const Bundle& bundle, const std::string& place);
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

/// What is granted as one: to a trial itself, or to one of its workers.
struct BundleRequest {
  ResourceAmounts amounts;
  Labels labels = {};  ///< Of the node.
  friend bool operator==(const BundleRequest&, const BundleRequest&) = default;
};

/// What a trial asks for, checked and exact.
struct ResourceRequest {
  ResourceRequest() = default;
  /// On any node, without workers.
  ResourceRequest(ResourceAmounts amounts) : own{std::move(amounts)} {}
  /// @throws std::invalid_argument as ResourceAmounts, for a label without a name, and for more
  /// than 1024 workers.
  explicit ResourceRequest(const Resources& resources);

  BundleRequest own;  ///< Of the trial itself.
  std::vector<BundleRequest> workers = {};
  GangStrategy strategy = GangStrategy::pack;

  [[nodiscard]] bool is_gang() const { return !workers.empty(); }
  /// True if it asks for neither labels nor workers.
  [[nodiscard]] bool is_plain() const { return workers.empty() && own.labels.empty(); }
  /// Of the trial and all its workers together.
  [[nodiscard]] ResourceAmounts total() const;
  /// For people: "1 cpu with zone=a and 4 workers of 2 cpu (strict_pack)".
  [[nodiscard]] std::string describe() const;
  friend bool operator==(const ResourceRequest&, const ResourceRequest&) = default;
};

/// What a running trial was given, or one of its workers.
struct ResourceGrant {
  ResourceAmounts amounts;
  std::vector<int> gpu_ids;  ///< The devices; one only for a fraction.

  [[nodiscard]] double cpu() const { return static_cast<double>(amounts.amount("cpu")) / 1000; }
  [[nodiscard]] double gpu() const { return static_cast<double>(amounts.amount("gpu")) / 1000; }
};

/// What a worker of a trial was given, and where.
struct WorkerGrant {
  NodeId node;
  ResourceGrant resources;
};

}  // namespace tune
