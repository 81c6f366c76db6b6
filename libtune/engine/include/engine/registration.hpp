#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tune/registry.hpp>

/// What the registries of <tune/registry.hpp> have for those who load plugins.
namespace tune::engine {

struct HeldBack;

/// While it lives, what this thread registers is a plugin's. It is held back until all of it is
/// known, and a fault is noted instead of thrown: an exception in the initialisation of a library
/// would end the process.
class PluginRegistrations {
 public:
  /// `file`: the plugin's, for messages and for Registered::plugin.
  explicit PluginRegistrations(std::string file);
  ~PluginRegistrations();
  PluginRegistrations(const PluginRegistrations&) = delete;
  PluginRegistrations& operator=(const PluginRegistrations&) = delete;

  /// Registers all that came, or nothing.
  /// @throws std::invalid_argument with the first fault, or a name that is taken and by whom.
  void commit();

 private:
  std::unique_ptr<HeldBack> held_back_;
  HeldBack* outer_ = nullptr;  // of a plugin that loads this one
};

/// Asked for a name that nobody has registered; may register more. `is_known` tells whether the
/// name is registered by now. Returns what to add to the message that it is not.
using ProvideName = std::string (*)(const std::string& name, const std::function<bool()>& is_known);
/// One for the process. Always true.
bool provide_names_by(ProvideName provide);

/// All that is registered: schedulers, searchers, trainables, each in the order of their names.
[[nodiscard]] std::vector<Registered> all_registered();

}  // namespace tune::engine
