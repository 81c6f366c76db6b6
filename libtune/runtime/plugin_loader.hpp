#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tune::runtime {

/// Loads plugins in their order, each as load_plugin() does.
void load_plugins(const std::vector<std::string>& paths_or_names);

/// The files of the plugins that are loaded, in their order: what a worker process loads.
[[nodiscard]] std::vector<std::string> plugin_files();

}  // namespace tune::runtime
