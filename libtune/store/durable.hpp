#pragma once

#include <filesystem>
#include <string_view>

#include <tune/error.hpp>

namespace tune::store {

/// "cannot open /a/b: No such file or directory" for reason ENOENT.
[[nodiscard]] Error errno_error(std::string_view what, const std::filesystem::path& path,
                                int reason);

/// Forces the entries of one directory to the disk.
[[nodiscard]] Expected<void> sync_directory(const std::filesystem::path& directory);

/// Gives the directory `from` the name `to` on the same file system, at one instant. A directory
/// that had the name before is removed.
[[nodiscard]] Expected<void> replace_directory(const std::filesystem::path& from,
                                               const std::filesystem::path& to);

}  // namespace tune::store
