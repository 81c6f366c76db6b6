#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <tune/plugin.hpp>

namespace tune::test {

inline std::string plugin_path(const std::string& name) {
  return std::string(PLUGIN_FOLDER) + "/" + name + ".so";
}

/// Why a plugin is not loaded; empty if it is.
inline std::string plugin_refusal(const std::string& path_or_name) {
  try {
    load_plugin(path_or_name);
  } catch (const PluginError& error) {
    return error.what();
  }
  return {};
}

inline bool holds_name(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Sets a variable of the environment for as long as it lives.
class EnvironmentVariable {
 public:
  EnvironmentVariable(std::string name, const std::string& value) : name_(std::move(name)) {
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~EnvironmentVariable() { ::unsetenv(name_.c_str()); }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  std::string name_;
};

}  // namespace tune::test
