#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tune::core {

/// A file of a checkpoint as it was written. A symbolic link is one, too: its content is the text
/// of its target.
struct CheckpointFile {
  std::string path;  ///< Within the checkpoint's directory, with '/'.
  std::uint64_t size_bytes = 0;
  std::string hash;  ///< XXH3-128 of the content, 32 hexadecimal digits.
  friend bool operator==(const CheckpointFile&, const CheckpointFile&) = default;
};

/// All files of a checkpoint, sorted by path. Directories are not listed.
using CheckpointManifest = std::vector<CheckpointFile>;

/// Shared by all who name the checkpoint; null where its files are not known, as in a simulation.
using SharedManifest = std::shared_ptr<const CheckpointManifest>;

/// The sizes of all files together.
[[nodiscard]] inline std::uint64_t total_size_bytes(const CheckpointManifest& manifest) {
  std::uint64_t total = 0;
  for (const CheckpointFile& file : manifest) total += file.size_bytes;
  return total;
}

}  // namespace tune::core
