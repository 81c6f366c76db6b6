#pragma once

#include <filesystem>

#include <tune/error.hpp>

namespace tune::store {

/// Forces the entries of one directory to the disk.
[[nodiscard]] Expected<void> sync_directory(const std::filesystem::path& directory);

/// Forces a directory and all files below it to the disk. Links are not followed.
[[nodiscard]] Expected<void> sync_tree(const std::filesystem::path& directory);

/// Gives the directory `from` the name `to` on the same file system, at one instant. A directory
/// that had the name before is removed.
[[nodiscard]] Expected<void> replace_directory(const std::filesystem::path& from,
                                               const std::filesystem::path& to);

}  // namespace tune::store
