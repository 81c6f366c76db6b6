#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tune/registry.hpp>

#include "core/number_text.hpp"

namespace tune::engine {

// Whether two functions are known to be the same: equal plain functions, or objects of one lambda
// or functor type (each class has a factory type of its own).
template <class R, class... Args>
bool is_same_function(const std::function<R(Args...)>& a, const std::function<R(Args...)>& b) {
  using Plain = R (*)(Args...);
  const auto* plain_a = a.template target<Plain>();
  const auto* plain_b = b.template target<Plain>();
  if (plain_a != nullptr && plain_b != nullptr) return *plain_a == *plain_b;
  return a.target_type() == b.target_type();
}

inline bool is_same_function(const TrainableSpec& a, const TrainableSpec& b) {
  return a.checkpoints == b.checkpoints && is_same_function(a.make, b.make) &&
         is_same_function(a.function, b.function);
}

template <class Code>
struct RegistryEntry {
  Code code;
  std::string description;
  std::string plugin = {};  // its file; empty: the program's or tune's own
};

/// What is registered of one kind, by name.
template <class Code>
class RegistryTable {
 public:
  using Entry = RegistryEntry<Code>;

  explicit RegistryTable(std::string kind) : kind_(std::move(kind)) {}

  [[nodiscard]] const std::string& kind() const { return kind_; }
  [[nodiscard]] const std::map<std::string, Entry>& entries() const { return entries_; }

  void add(std::string name, Entry entry) {
    if (name.empty()) throw std::invalid_argument("a " + kind_ + " is registered without a name");
    const auto [place, is_new] = entries_.try_emplace(std::move(name), entry);
    if (is_new) return;
    if (!place->second.plugin.empty()) refuse_taken(*place);
    if (!is_same_function(place->second.code, entry.code)) {
      throw std::invalid_argument(kind_ + " " + core::value_text(place->first) +
                                  " is registered twice, with different code");
    }
  }

  /// Two libraries may have one name for different code: a name that is there already is refused,
  /// however alike the two look.
  void refuse_taken_names(const RegistryTable& others) const {
    for (const auto& [name, entry] : others.entries_) {
      if (const auto place = entries_.find(name); place != entries_.end()) refuse_taken(*place);
    }
  }
  /// @pre None of the names is taken.
  void take(RegistryTable& others, const std::string& plugin) {
    for (auto& [name, entry] : others.entries_) entry.plugin = plugin;
    entries_.merge(others.entries_);
  }

  [[nodiscard]] const Entry* find(const std::string& name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : &found->second;
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_) names.push_back(name);
    return names;
  }

 private:
  [[noreturn]] void refuse_taken(const std::pair<const std::string, Entry>& place) const {
    const std::string& plugin = place.second.plugin;
    throw std::invalid_argument(
        kind_ + " " + core::value_text(place.first) + " is registered already, " +
        (plugin.empty() ? "by the program or by tune itself" : "by the plugin " + plugin));
  }

  std::string kind_;
  std::map<std::string, Entry> entries_;
};

struct RegistryTables {
  RegistryTable<SchedulerFactory> schedulers{"scheduler"};
  RegistryTable<SearcherFactory> searchers{"searcher"};
  RegistryTable<TrainableSpec> trainables{"trainable"};
  RegistryTable<TrialWorkerFunction> worker_functions{"worker function"};

  /// Moves all entries of `others` here, or none.
  void take(RegistryTables& others, const std::string& plugin) {
    schedulers.refuse_taken_names(others.schedulers);
    searchers.refuse_taken_names(others.searchers);
    trainables.refuse_taken_names(others.trainables);
    worker_functions.refuse_taken_names(others.worker_functions);
    schedulers.take(others.schedulers, plugin);
    searchers.take(others.searchers, plugin);
    trainables.take(others.trainables, plugin);
    worker_functions.take(others.worker_functions, plugin);
  }
};

/// What a plugin has registered so far, and what was wrong with it first.
struct HeldBack {
  std::string file;
  RegistryTables tables = {};
  std::string fault = {};
};

}  // namespace tune::engine
