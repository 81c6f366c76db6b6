#include "checkpoint_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "content_hash.hpp"
#include "durable.hpp"

namespace tune::store {
namespace {

using core::CheckpointFile;
using core::CheckpointManifest;

// Another seed, so that a file that holds the name of a link's target is no such link.
constexpr std::uint64_t file_seed = 0;
constexpr std::uint64_t link_seed = 1;

/// A file that is read from its beginning to its end.
class FileReader {
 public:
  explicit FileReader(const std::filesystem::path& path)
      : path_(path),
        file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)),
        reason_(file_ < 0 ? errno : 0) {}
  ~FileReader() {
    if (file_ >= 0) ::close(file_);
  }
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  [[nodiscard]] bool is_open() const { return file_ >= 0; }
  [[nodiscard]] int reason() const { return reason_; }
  [[nodiscard]] Error error(const char* what) const { return errno_error(what, path_, reason_); }

  /// Hashes all of it through `block`. False: see reason().
  bool hash(std::vector<char>& block, CheckpointFile& file) {
    ContentHash hash(file_seed);
    file.size_bytes = 0;
    while (true) {
      const ssize_t count = ::read(file_, block.data(), block.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return fail();
      if (count == 0) break;
      hash.add(std::span(block.data(), static_cast<std::size_t>(count)));
      file.size_bytes += static_cast<std::uint64_t>(count);
    }
    file.hash = hash.text();
    return true;
  }

  bool sync() { return ::fsync(file_) == 0 || errno == EINVAL || fail(); }

 private:
  bool fail() {
    reason_ = errno;
    return false;
  }

  const std::filesystem::path& path_;
  const int file_;
  int reason_;
};

std::vector<char> make_block() { return std::vector<char>(std::size_t{1} << 18U); }

/// A link's entry, but for its path.
CheckpointFile describe_link(const std::string& target) {
  ContentHash hash(link_seed);
  hash.add(target);
  return {{}, target.size(), hash.text()};
}

/// Adds the files of `directory`, which is `prefix` in the manifest.
Expected<void> add_files(const std::filesystem::path& directory, const std::string& prefix,
                         std::vector<char>& block, CheckpointManifest& manifest) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const fs::path& path = it->path();
    const std::string name = prefix + path.filename().generic_string();
    const fs::file_status status = it->symlink_status(error);
    if (error) break;
    if (fs::is_directory(status)) {
      if (const auto added = add_files(path, name + "/", block, manifest); !added) return added;
    } else if (fs::is_symlink(status)) {
      CheckpointFile& link = manifest.emplace_back(describe_link(fs::read_symlink(path, error)));
      if (error) break;
      link.path = name;
    } else if (fs::is_regular_file(status)) {
      FileReader reader(path);
      if (!reader.is_open()) return reader.error("cannot open");
      CheckpointFile& file = manifest.emplace_back();
      file.path = name;
      if (!reader.hash(block, file)) return reader.error("cannot read");
      if (!reader.sync()) return reader.error("cannot sync");
    }
  }
  if (error) return errno_error("cannot read", directory, error.value());
  return sync_directory(directory);
}

Error make_damage(std::string text) { return {ErrorCode::damaged, std::move(text)}; }

std::string missing_text(const CheckpointFile& want) { return want.path + " is missing"; }

std::string wrong_size_text(std::uint64_t size_bytes, const CheckpointFile& want) {
  return want.path + ": " + std::to_string(size_bytes) + " bytes, want " +
         std::to_string(want.size_bytes);
}

std::string wrong_content_text(const std::string& hash, const CheckpointFile& want) {
  return want.path + ": content with hash " + hash + ", want " + want.hash;
}

/// True if it says that what was stored is not there as it was, and no more than that: on another
/// day or to another user the disk would say the same.
bool is_damage(int reason) {
  return reason == ENOENT || reason == ENOTDIR || reason == ELOOP || reason == EIO;
}

/// Its size as it is, without reading it; a link's as described.
Expected<void> compare_size(const std::filesystem::path& path, const CheckpointFile& want) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return make_damage(missing_text(want));
    const Error error = errno_error("cannot read", path, errno);
    return is_damage(errno) ? make_damage(error.message) : error;
  }
  if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
    return make_damage(want.path + " is no file");
  }
  const auto size_bytes = static_cast<std::uint64_t>(status.st_size);
  if (size_bytes != want.size_bytes) return make_damage(wrong_size_text(size_bytes, want));
  return {};
}

Expected<void> compare_content(const std::filesystem::path& path, std::vector<char>& block,
                               const CheckpointFile& want) {
  CheckpointFile found;
  std::error_code error;
  if (const auto target = std::filesystem::read_symlink(path, error); !error) {
    found = describe_link(target);
  } else {
    FileReader reader(path);
    if (!reader.is_open() || !reader.hash(block, found)) {
      const Error fault = reader.error("cannot read");
      return is_damage(reader.reason()) ? make_damage(fault.message) : fault;
    }
  }
  if (found.size_bytes != want.size_bytes) {
    return make_damage(wrong_size_text(found.size_bytes, want));
  }
  if (found.hash != want.hash) return make_damage(wrong_content_text(found.hash, want));
  return {};
}

}  // namespace

Expected<CheckpointManifest> sync_and_list(const std::filesystem::path& directory) {
  CheckpointManifest manifest;
  std::vector<char> block = make_block();
  if (const auto added = add_files(directory, {}, block, manifest); !added) return added.error();
  std::sort(manifest.begin(), manifest.end(),
            [](const CheckpointFile& a, const CheckpointFile& b) { return a.path < b.path; });
  return manifest;
}

Expected<void> compare_files(const std::filesystem::path& directory,
                             const CheckpointManifest& manifest) {
  // Sizes cost nothing, and show most of what happens to files.
  for (const CheckpointFile& want : manifest) {
    if (const auto compared = compare_size(directory / want.path, want); !compared) return compared;
  }
  std::vector<char> block = make_block();
  for (const CheckpointFile& want : manifest) {
    const auto compared = compare_content(directory / want.path, block, want);
    if (!compared) return compared;
  }
  return {};
}

std::string describe_damage(const CheckpointManifest& found, const CheckpointManifest& manifest) {
  auto next = found.begin();
  for (const CheckpointFile& want : manifest) {
    next = std::find_if(next, found.end(),
                        [&](const CheckpointFile& file) { return file.path >= want.path; });
    if (next == found.end() || next->path != want.path) return missing_text(want);
    if (next->size_bytes != want.size_bytes) return wrong_size_text(next->size_bytes, want);
    if (next->hash != want.hash) return wrong_content_text(next->hash, want);
  }
  return {};
}

}  // namespace tune::store
