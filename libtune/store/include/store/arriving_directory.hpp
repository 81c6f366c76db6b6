#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tune/error.hpp>

#include "core/checkpoint_manifest.hpp"
#include "store/file_list.hpp"
#include "store/transfer_cursor.hpp"

namespace tune::store {

/// A directory whose files come from another machine. Until it is whole it stands beside its place,
/// under a name with the trial's incarnation; CheckpointStore::clean() removes it there. What an
/// object leaves behind the next one with the same name goes on with.
///
/// Errors name the file and the reason.
class ArrivingDirectory {
 public:
  /// Begins, or goes on with, `directory` of an experiment. Of what is there, that which `list`
  /// does not have is removed, and so is what arrived in earlier incarnations. `manifest` may be
  /// null. Reads the files that are whole. @pre is_served_directory(directory),
  /// check_file_list(list), and choose_listed(list, *manifest) changes nothing
  [[nodiscard]] static Expected<ArrivingDirectory> open(const std::filesystem::path& experiment,
                                                        const std::string& directory,
                                                        std::uint32_t incarnation, FileList list,
                                                        core::SharedManifest manifest);

  [[nodiscard]] const FileList& list() const { return list_; }
  /// Of each entry: how much of it is right, by the manifest. All or nothing.
  [[nodiscard]] const std::vector<std::uint64_t>& right_bytes() const { return right_bytes_; }
  /// Of each entry that is not: how much of it is there.
  [[nodiscard]] const std::vector<std::uint64_t>& doubtful_bytes() const { return doubtful_bytes_; }

  [[nodiscard]] Expected<std::string> hash(const FilePiece& block) const;
  /// Cuts a file off.
  [[nodiscard]] Expected<void> keep(std::uint32_t file, std::uint64_t size_bytes);
  /// Writes bytes where the file ended so far.
  [[nodiscard]] Expected<void> append(const FilePiece& piece, std::span<const char> bytes);
  /// Makes what has no content, forces all to the disk, compares it with the manifest, and gives
  /// the directory its name, in the place of an older one of that name. If it is not as it should
  /// be the error is of code `damaged`, and names the file. Reads all files.
  [[nodiscard]] Expected<core::CheckpointManifest> commit();
  /// Removes what has arrived, as far as that can be.
  void remove();
  /// Removes what has arrived of `directory` in any incarnation.
  static void remove_all(const std::filesystem::path& experiment, const std::string& directory);

 private:
  ArrivingDirectory(std::filesystem::path temporary, std::filesystem::path target, FileList list,
                    core::SharedManifest manifest);
  Expected<void> remove_older(std::uint32_t incarnation) const;
  Expected<void> look_at_what_is_there();
  Expected<void> make_directories() const;
  Expected<void> check_whole_files();
  Expected<void> make_what_is_empty() const;
  [[nodiscard]] std::optional<std::size_t> find(const std::string& path, EntryKind kind) const;

  std::filesystem::path temporary_;
  std::filesystem::path target_;
  FileList list_;
  core::SharedManifest manifest_;  // shared as everywhere; null: not known
  std::vector<std::uint64_t> right_bytes_;
  std::vector<std::uint64_t> doubtful_bytes_;
};

}  // namespace tune::store
