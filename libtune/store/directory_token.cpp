#include "store/directory_token.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "content_hash.hpp"
#include "durable.hpp"
#include "open_file.hpp"

namespace tune::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t token_bytes = 32;  // hexadecimal digits

/// 32 digits that nobody guesses.
Expected<std::string> draw_digits() {
  std::array<char, token_bytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return Error{ErrorCode::io,
                 "the system gives no random bytes: " + std::generic_category().message(errno)};
  }
  ContentHash hash;
  hash.add(bytes);
  return hash.text();
}

}  // namespace

DirectoryToken::DirectoryToken(fs::path path, std::string content)
    : path_(std::move(path)), content_(std::move(content)) {}

DirectoryToken::DirectoryToken(DirectoryToken&& other) noexcept
    : path_(std::exchange(other.path_, {})), content_(std::move(other.content_)) {}

DirectoryToken::~DirectoryToken() {
  std::error_code ignored;  // one that stays behind says nothing: the next has another name
  if (!path_.empty()) fs::remove(path_, ignored);
}

Expected<DirectoryToken> DirectoryToken::write(const fs::path& directory) {
  constexpr mode_t for_owner = 0600;
  const auto name = draw_digits();
  if (!name) return name.error();
  const auto content = draw_digits();
  if (!content) return content.error();
  const std::string file_name = directory_token_prefix + *name;
  DirectoryToken token(directory / file_name, *content);
  const auto file = open_below(directory, file_name, O_WRONLY | O_CREAT | O_EXCL, for_owner);
  if (!file) return file.error();
  if (const auto written = write_at(*file, 0, *content, token.path_); !written) {
    return written.error();
  }
  // On a file system of the network the others see it only then.
  if (::fsync(file->get()) != 0 && errno != EINVAL) {
    return errno_error("cannot sync", token.path_, errno);
  }
  if (const auto synced = sync_directory(directory); !synced) return synced.error();
  return token;
}

void remove_old_tokens(const fs::path& directory) {
  std::error_code ignored;  // they do no harm
  std::vector<fs::path> old;
  for (fs::directory_iterator it(directory, ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    if (it->path().filename().string().starts_with(directory_token_prefix)) {
      old.push_back(it->path());
    }
  }
  for (const fs::path& path : old) fs::remove(path, ignored);
}

bool sees_token(const fs::path& path, const std::string& content) {
  const std::string name = path.filename().string();
  if (!path.is_absolute() || content.size() != token_bytes) return false;
  if (!name.starts_with(directory_token_prefix)) return false;
  const auto file = open_below(path.parent_path(), name, O_RDONLY);
  if (!file) return false;
  std::string found(content.size() + 1, '\0');
  const auto count = read_at(*file, 0, found, path);
  return count && *count == content.size() && found.compare(0, *count, content) == 0;
}

}  // namespace tune::store
