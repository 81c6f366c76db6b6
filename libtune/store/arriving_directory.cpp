#include "store/arriving_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "checkpoint_files.hpp"
#include "durable.hpp"
#include "open_file.hpp"
#include "store/checkpoint_store.hpp"

namespace tune::store {
namespace {

namespace fs = std::filesystem;

/// Before the incarnation.
std::string arrival_prefix(const fs::path& target) {
  return std::string(CheckpointStore::temporary_prefix) + target.filename().string() + "-arrival-";
}

/// The incarnation in the name of an arrival; empty if it is none.
std::optional<std::uint32_t> incarnation_of(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  std::uint32_t incarnation = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, incarnation);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return incarnation;
}

std::optional<EntryKind> kind_of(const fs::file_status& status) {
  if (fs::is_directory(status)) return EntryKind::directory;
  if (fs::is_symlink(status)) return EntryKind::link;
  if (fs::is_regular_file(status)) return EntryKind::file;
  return std::nullopt;
}

}  // namespace

ArrivingDirectory::ArrivingDirectory(fs::path temporary, fs::path target, FileList list,
                                     core::SharedManifest manifest)
    : temporary_(std::move(temporary)),
      target_(std::move(target)),
      list_(std::move(list)),
      manifest_(std::move(manifest)),
      right_bytes_(list_.size(), 0),
      doubtful_bytes_(list_.size(), 0) {}

Expected<ArrivingDirectory> ArrivingDirectory::open(const fs::path& experiment,
                                                    const std::string& directory,
                                                    std::uint32_t incarnation, FileList list,
                                                    core::SharedManifest manifest) {
  const fs::path target = experiment / directory;
  const std::string name = arrival_prefix(target) + std::to_string(incarnation);
  ArrivingDirectory arriving(target.parent_path() / name, target, std::move(list),
                             std::move(manifest));
  std::error_code error;
  fs::create_directories(arriving.temporary_, error);
  if (error) return errno_error("cannot make", arriving.temporary_, error.value());
  Expected<void> done = arriving.remove_older(incarnation);
  if (done) done = arriving.look_at_what_is_there();
  if (done) done = arriving.make_directories();
  if (done) done = arriving.check_whole_files();
  if (!done) return done.error();
  return arriving;
}

Expected<void> ArrivingDirectory::remove_older(std::uint32_t incarnation) const {
  const std::string prefix = arrival_prefix(target_);
  std::error_code error;
  std::vector<fs::path> older;
  const fs::path parent = target_.parent_path();
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    const auto other = incarnation_of(it->path().filename().string(), prefix);
    if (other && *other < incarnation) older.push_back(it->path());
  }
  if (error) return errno_error("cannot read", parent, error.value());
  for (const fs::path& path : older) {
    fs::remove_all(path, error);
    if (error) return errno_error("cannot remove", path, error.value());
  }
  return {};
}

Expected<void> ArrivingDirectory::look_at_what_is_there() {
  std::error_code error;
  std::vector<fs::path> doomed;
  for (fs::recursive_directory_iterator it(temporary_, error), end; !error && it != end;
       it.increment(error)) {
    const auto kind = kind_of(it->symlink_status(error));
    if (error) break;
    const std::string path = it->path().lexically_relative(temporary_).generic_string();
    const auto index = kind ? find(path, *kind) : std::nullopt;
    if (!index) {
      doomed.push_back(it->path());
      if (kind == EntryKind::directory) it.disable_recursion_pending();
    } else if (kind == EntryKind::file) {
      const std::uint64_t size_bytes = it->file_size(error);
      if (error) break;
      doubtful_bytes_[*index] = std::min(size_bytes, list_[*index].size_bytes);
      if (size_bytes <= list_[*index].size_bytes) continue;
      const auto cut = keep(static_cast<std::uint32_t>(*index), list_[*index].size_bytes);
      if (!cut) return cut;
    }
  }
  if (error) return errno_error("cannot read", temporary_, error.value());
  for (const fs::path& path : doomed) {
    fs::remove_all(path, error);
    if (error) return errno_error("cannot remove", path, error.value());
  }
  return {};
}

Expected<void> ArrivingDirectory::make_directories() const {
  for (const FileEntry& entry : list_) {
    if (entry.kind != EntryKind::directory) continue;
    std::error_code error;
    fs::create_directory(temporary_ / entry.path, error);
    if (error) return errno_error("cannot make", temporary_ / entry.path, error.value());
  }
  return {};
}

Expected<void> ArrivingDirectory::check_whole_files() {
  if (!manifest_) return {};
  for (std::size_t i = 0; i < list_.size(); ++i) {
    const FileEntry& entry = list_[i];
    if (doubtful_bytes_[i] == 0 || doubtful_bytes_[i] != entry.size_bytes) continue;
    const auto want = std::lower_bound(
        manifest_->begin(), manifest_->end(), entry.path,
        [](const core::CheckpointFile& file, const std::string& path) { return file.path < path; });
    TUNE_ASSERT(want != manifest_->end() && want->path == entry.path);
    const fs::path path = temporary_ / entry.path;
    const auto file = open_below(temporary_, entry.path, O_RDONLY);
    if (!file) return file.error();
    const auto hash = hash_block(*file, 0, entry.size_bytes, path);
    if (!hash) return hash.error();
    if (*hash == want->hash) {
      right_bytes_[i] = std::exchange(doubtful_bytes_[i], 0);
    }
  }
  return {};
}

std::optional<std::size_t> ArrivingDirectory::find(const std::string& path, EntryKind kind) const {
  const auto found = std::lower_bound(
      list_.begin(), list_.end(), path,
      [](const FileEntry& entry, const std::string& text) { return entry.path < text; });
  if (found == list_.end() || found->path != path || found->kind != kind) return std::nullopt;
  return static_cast<std::size_t>(found - list_.begin());
}

Expected<std::string> ArrivingDirectory::hash(const FilePiece& block) const {
  const std::string& path = list_[block.file].path;
  const auto file = open_below(temporary_, path, O_RDONLY);
  if (!file) return file.error();
  return hash_block(*file, block.offset, block.size_bytes, temporary_ / path);
}

Expected<void> ArrivingDirectory::keep(std::uint32_t file, std::uint64_t size_bytes) {
  const std::string& path = list_[file].path;
  const auto opened = open_below(temporary_, path, O_WRONLY);
  if (!opened) return opened.error();
  if (::ftruncate(opened->get(), static_cast<off_t>(size_bytes)) == 0) return {};
  return errno_error("cannot cut off", temporary_ / path, errno);
}

Expected<void> ArrivingDirectory::append(const FilePiece& piece, std::span<const char> bytes) {
  constexpr mode_t for_everybody = 0666;  // as far as the process's mask lets it
  const std::string& path = list_[piece.file].path;
  const auto file = open_below(temporary_, path, O_WRONLY | O_CREAT, for_everybody);
  if (!file) return file.error();
  return write_at(*file, piece.offset, bytes, temporary_ / path);
}

Expected<void> ArrivingDirectory::make_what_is_empty() const {
  constexpr mode_t for_everybody = 0666;
  for (const FileEntry& entry : list_) {
    const fs::path path = temporary_ / entry.path;
    std::error_code error;
    if (entry.kind == EntryKind::link) {
      // One may be there from before, with another target.
      fs::remove(path, error);
      if (!error) fs::create_symlink(entry.target, path, error);
      if (error) return errno_error("cannot make link", path, error.value());
    } else if (entry.kind == EntryKind::file && entry.size_bytes == 0) {
      const auto file = open_below(temporary_, entry.path, O_WRONLY | O_CREAT, for_everybody);
      if (!file) return file.error();
    }
    if (!entry.is_executable) continue;
    fs::permissions(path, fs::perms::owner_exec, fs::perm_options::add, error);
    if (error) return errno_error("cannot make executable", path, error.value());
  }
  return {};
}

Expected<core::CheckpointManifest> ArrivingDirectory::commit() {
  if (const auto made = make_what_is_empty(); !made) return made.error();
  auto found = sync_and_list(temporary_);
  if (!found) return found;
  const auto whole = choose_listed(list_, *found);
  if (!whole) return whole.error();
  if (whole->size() != list_.size()) {
    return Error{ErrorCode::damaged, "files that arrived are missing in " + temporary_.string()};
  }
  const std::string damage = manifest_ ? describe_damage(*found, *manifest_) : "";
  if (!damage.empty()) return Error{ErrorCode::damaged, damage};
  if (const auto renamed = replace_directory(temporary_, target_); !renamed) return renamed.error();
  if (const auto synced = sync_directory(target_.parent_path()); !synced) return synced.error();
  return found;
}

void ArrivingDirectory::remove_all(const fs::path& experiment, const std::string& directory) {
  const fs::path target = experiment / directory;
  const std::string prefix = arrival_prefix(target);
  std::error_code ignored;
  std::vector<fs::path> arrivals;
  for (fs::directory_iterator it(target.parent_path(), ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    if (incarnation_of(it->path().filename().string(), prefix)) arrivals.push_back(it->path());
  }
  for (const fs::path& path : arrivals) fs::remove_all(path, ignored);
}

void ArrivingDirectory::remove() {
  std::error_code ignored;  // what stays behind has no checkpoint's name
  fs::remove_all(temporary_, ignored);
}

}  // namespace tune::store
