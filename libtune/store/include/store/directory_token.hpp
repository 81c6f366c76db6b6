#pragma once

#include <filesystem>
#include <string>

#include <tune/error.hpp>

namespace tune::store {

/// The name of the token in an experiment's directory; it ends with a number that is drawn.
inline constexpr const char* directory_token_prefix = ".token-";

/// A file with a random name and content in a directory: who finds it at the same path sees the
/// same directory, whatever file systems are between. Removed with the object.
class DirectoryToken {
 public:
  /// Writes one. Errors name path and reason.
  [[nodiscard]] static Expected<DirectoryToken> write(const std::filesystem::path& directory);
  ~DirectoryToken();
  DirectoryToken(DirectoryToken&& other) noexcept;
  DirectoryToken& operator=(DirectoryToken&&) = delete;

  /// Both are to be told to the other machine.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const std::string& content() const { return content_; }

 private:
  DirectoryToken(std::filesystem::path path, std::string content);

  std::filesystem::path path_;  // empty once moved from
  std::string content_;
};

/// Removes those that were left behind in a directory which is the caller's alone.
void remove_old_tokens(const std::filesystem::path& directory);

/// Whether a token with this content stands at `path` here. What cannot be read is not the same
/// directory, and neither is a path that is not that of a token.
[[nodiscard]] bool sees_token(const std::filesystem::path& path, const std::string& content);

}  // namespace tune::store
