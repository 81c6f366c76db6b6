#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tune/error.hpp>

#include "core/checkpoint_manifest.hpp"

namespace tune::store {

/// A checkpoint that is being written, beside its place and under another name, so that nobody
/// takes a half one for a checkpoint. Removed with the object unless it was committed.
class PendingCheckpoint {
 public:
  PendingCheckpoint(std::filesystem::path temporary, std::filesystem::path target);
  ~PendingCheckpoint();
  PendingCheckpoint(PendingCheckpoint&& other) noexcept;
  PendingCheckpoint& operator=(PendingCheckpoint&&) = delete;

  /// The directory to write into; empty when it is made.
  [[nodiscard]] const std::filesystem::path& path() const { return temporary_; }
  /// Forces all files to the disk, then gives the directory its name, in the place of an older one
  /// of that name. Reads each file once, in constant memory, for the manifest that it returns.
  [[nodiscard]] Expected<core::CheckpointManifest> commit();

 private:
  friend class CheckpointStore;
  [[nodiscard]] Expected<void> rename();

  std::filesystem::path temporary_;  // empty once it is committed or moved from
  std::filesystem::path target_;
};

/// The checkpoints of an experiment: `<experiment>/<trial>/<checkpoint>/`.
///
/// What has a checkpoint's name is whole. Errors name the path and the system's reason. Safe from
/// several threads as long as each checkpoint has one owner.
class CheckpointStore {
 public:
  /// What is half has a name that begins so.
  static constexpr std::string_view temporary_prefix = ".tmp-";

  explicit CheckpointStore(std::filesystem::path experiment) : experiment_(std::move(experiment)) {}

  [[nodiscard]] std::filesystem::path path(const std::string& trial,
                                           const std::string& checkpoint) const;
  [[nodiscard]] Expected<PendingCheckpoint> begin(const std::string& trial,
                                                  const std::string& checkpoint) const;
  /// Makes a checkpoint of another trial one of `trial`'s own: by hard links, or by copies where
  /// the file system has none. Costs no space in the first case, and outlives the original in both.
  /// `manifest` is the original's, or null if it is not known; if what was made is not like it, the
  /// error is one of verify() and nothing is kept. Returns the manifest of what was made.
  [[nodiscard]] Expected<core::CheckpointManifest> adopt(const std::string& source_trial,
                                                         const std::string& source_checkpoint,
                                                         const core::CheckpointManifest* manifest,
                                                         const std::string& trial,
                                                         const std::string& checkpoint) const;
  /// Reads a checkpoint and compares it with its manifest, in constant memory. What is missing, was
  /// cut off or changed is an error of code `damaged`, which names the checkpoint and the file;
  /// what cannot be read for another reason is one of code `io`. Further files do not matter.
  [[nodiscard]] Expected<void> verify(const std::string& trial, const std::string& checkpoint,
                                      const core::CheckpointManifest& manifest) const;
  /// The same where no manifest is known: the checkpoint's directory must be there.
  [[nodiscard]] Expected<void> require_directory(const std::string& trial,
                                                 const std::string& checkpoint) const;
  /// Removing what is not there is no error.
  [[nodiscard]] Expected<void> remove(const std::string& trial,
                                      const std::string& checkpoint) const;
  /// Removes what process `writer` left behind of a trial's checkpoints as it died.
  [[nodiscard]] Expected<void> remove_unfinished(const std::string& trial,
                                                 std::int64_t writer) const;
  /// Removes what was left behind of a trial's checkpoints when all that wrote them died: half
  /// ones, packages from nodes, and those that are not in `keep`, damaged ones too unless they are.
  /// Returns the names of what was removed, sorted. @pre nothing writes checkpoints of this trial
  [[nodiscard]] Expected<std::vector<std::string>> clean(const std::string& trial,
                                                         const std::set<std::string>& keep) const;
  /// The names of a trial's checkpoints, oldest iteration first; none if the trial has no
  /// directory.
  [[nodiscard]] Expected<std::vector<std::string>> list(const std::string& trial) const;

 private:
  std::filesystem::path experiment_;
};

}  // namespace tune::store
