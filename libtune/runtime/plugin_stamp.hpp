#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <tune/plugin.hpp>

namespace tune::runtime {

/// Looks into a file, without loading it, for what it was built with. Why it cannot be loaded into
/// this process; empty if it can.
[[nodiscard]] std::optional<std::string> refuse_plugin_file(const std::filesystem::path& file);

}  // namespace tune::runtime
