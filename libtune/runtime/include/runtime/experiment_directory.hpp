#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "store/directory_lock.hpp"

namespace tune::runtime {

/// The directory that `storage_path` means, absolute: a path, `~/...` or a file:// URI, in which
/// "%20" is a space; empty: the default, which is $TUNE_STORAGE_PATH if that is set, else
/// ~/tune_results.
/// @throws std::invalid_argument for another URI scheme or a malformed escape, naming it, and where
/// there is no home.
[[nodiscard]] std::filesystem::path resolve_storage(const std::string& storage_path);

/// Refuses a name that cannot be one directory of its own.
/// @throws std::invalid_argument naming it and what is allowed.
void check_experiment_name(const std::string& name);

/// "<trainable>_<YYYY-mm-dd_HH-MM-SS>_<6 random hexadecimal digits>".
[[nodiscard]] std::string default_experiment_name(const std::string& trainable);

/// What there is in an experiment's directory.
enum class Contents {
  nothing,     ///< There is no such directory, or nothing of an experiment in it.
  experiment,  ///< A journal.
  other,
};
/// @throws std::invalid_argument naming the path if it is a file or cannot be read.
[[nodiscard]] Contents look_into(const std::filesystem::path& experiment);

/// An experiment's directory, made if need be and locked for one run alone.
class DirectoryClaim {
 public:
  /// @throws std::invalid_argument naming the path and the reason, such as who has it.
  explicit DirectoryClaim(std::filesystem::path experiment);
  /// Removes what was made, unless it was kept.
  ~DirectoryClaim();
  DirectoryClaim(const DirectoryClaim&) = delete;
  DirectoryClaim& operator=(const DirectoryClaim&) = delete;

  /// The lock, which from now on is the caller's, with the directory.
  [[nodiscard]] store::DirectoryLock keep();
  /// Renames the directory to "<name>.<time>", with all there is in it, and makes an empty one in
  /// its place. @return the path of the old one. @throws std::invalid_argument
  std::filesystem::path move_aside();

 private:
  void lock();
  void undo();

  std::filesystem::path path_;
  bool is_made_ = false;
  std::optional<store::DirectoryLock> lock_;
};

}  // namespace tune::runtime
