#pragma once

#include <filesystem>
#include <string>

#include <tune/error.hpp>

#include "core/checkpoint_manifest.hpp"

namespace tune::store {

/// Forces a directory and all below it to the disk and lists its files, each of which is read once,
/// block by block. Links are not followed; what is neither file, link nor directory is left out.
[[nodiscard]] Expected<core::CheckpointManifest> sync_and_list(
    const std::filesystem::path& directory);

/// Compares a directory with what it was when it was listed. Files that were not listed do not
/// matter. An error of code `damaged` names the first file that is not as it was, of another code
/// what could not be read.
[[nodiscard]] Expected<void> compare_files(const std::filesystem::path& directory,
                                           const core::CheckpointManifest& manifest);

/// What compare_files() would say of a directory whose files are `found`; empty if all is well.
[[nodiscard]] std::string describe_damage(const core::CheckpointManifest& found,
                                          const core::CheckpointManifest& manifest);

}  // namespace tune::store
