#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <tune/error.hpp>

#include "core/checkpoint_manifest.hpp"

namespace tune::store {

enum class EntryKind : std::uint8_t { directory, file, link };

/// What stands in a directory that travels to another machine.
struct FileEntry {
  std::string path;  ///< Within the directory, with '/'.
  EntryKind kind = EntryKind::file;
  std::uint64_t size_bytes = 0;  ///< Of a file.
  bool is_executable = false;    ///< A file that its owner may run.
  std::string target = {};       ///< Of a link.
  friend bool operator==(const FileEntry&, const FileEntry&) = default;
};

/// All that stands in a directory, sorted by path: a directory comes before what is in it.
using FileList = std::vector<FileEntry>;

/// How many entries may travel together, and with how many bytes.
inline constexpr std::size_t most_entries = 1'000'000;
inline constexpr std::uint64_t most_bytes = std::uint64_t{1} << 62U;

/// Lists a directory that is to travel. What is neither file, link nor directory is left out, as it
/// is out of a manifest. An error names what cannot be read, or the link that leaves the directory.
[[nodiscard]] Expected<FileList> list_tree(const std::filesystem::path& directory);

/// Whether a list that came from elsewhere may be made a directory: every path stays within it
/// ("../x", "/x", "a//b" do not), stands once and in order, and below a directory of the list,
/// never below a link; a link stays within it, too. An error of code `damaged` names the first
/// entry that is not so.
[[nodiscard]] Expected<void> check_file_list(const FileList& list);

/// What of `list` is needed for the files of `manifest`: them and all directories. An error of code
/// `damaged` names the file that is missing or has another size.
[[nodiscard]] Expected<FileList> choose_listed(FileList list,
                                               const core::CheckpointManifest& manifest);

/// Whether `path` is relative, has no empty part, and neither "." nor "..".
[[nodiscard]] bool is_path_within(std::string_view path);

}  // namespace tune::store
