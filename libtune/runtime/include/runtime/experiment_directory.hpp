#pragma once

#include <filesystem>
#include <string>

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

/// @throws std::invalid_argument naming the path if there is something in it already.
void check_unused(const std::filesystem::path& experiment);

/// An experiment's directory, made for one run alone: of two that try at once, one is refused.
/// An empty driver.log in it is the sign.
class DirectoryClaim {
 public:
  /// @throws std::invalid_argument naming the path and the reason.
  explicit DirectoryClaim(std::filesystem::path experiment);
  /// Undoes it, unless it was kept.
  ~DirectoryClaim();
  DirectoryClaim(const DirectoryClaim&) = delete;
  DirectoryClaim& operator=(const DirectoryClaim&) = delete;

  void keep() { is_kept_ = true; }

 private:
  std::filesystem::path path_;
  bool is_made_ = false;
  bool is_kept_ = false;
};

}  // namespace tune::runtime
