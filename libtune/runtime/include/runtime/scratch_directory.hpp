#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <tune/error.hpp>

#include "runtime/kept_directories.hpp"
#include "store/directory_lock.hpp"

namespace tune::runtime {

/// The place of a node's own for the experiment of a driver whose directory it does not see: a new
/// directory below `parent`, made when it is first needed and removed with the object.
class ScratchDirectory {
 public:
  /// Removes what nodes left in `parent` that were killed.
  explicit ScratchDirectory(std::filesystem::path parent);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  /// The directory of an experiment; others are removed. Errors name path and reason.
  [[nodiscard]] Expected<std::filesystem::path> open(const std::string& experiment_id);
  /// After a session that broke: removes all but checkpoints, whole ones or on their way here, of
  /// which it tells. @pre nothing runs there
  [[nodiscard]] std::vector<KeptDirectory> tidy() const;
  /// Removes all. @pre nothing runs there
  void clear() const;
  /// So much may be kept of what no trial here needs: a quarter of the room that was free.
  [[nodiscard]] std::uint64_t most_kept_bytes() const { return most_kept_bytes_; }

 private:
  [[nodiscard]] Expected<void> make();
  void remove_left_overs() const;

  std::filesystem::path parent_;
  std::filesystem::path path_;  // empty: not made yet
  std::optional<store::DirectoryLock> lock_;
  std::uint64_t most_kept_bytes_ = 0;
};

}  // namespace tune::runtime
