#include "runtime/scratch_directory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/node_files.hpp"
#include "store/checkpoint_store.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view scratch_prefix = "tune-node-";

bool is_own_directory(const fs::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid();
}

std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> entries;
  std::error_code ignored;
  for (fs::directory_iterator it(directory, ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    entries.push_back(it->path());
  }
  return entries;
}

bool is_checkpoint(const fs::path& path) {
  const std::string name = path.filename().string();
  std::error_code ignored;
  if (!fs::is_directory(fs::symlink_status(path, ignored))) return false;
  return name.starts_with("checkpoint_") ||
         (name.starts_with(std::string(store::CheckpointStore::temporary_prefix) + "checkpoint_") &&
          name.ends_with("-arrival-" + std::to_string(brought_incarnation)));
}

std::uint64_t size_of(const fs::path& directory) {
  std::uint64_t bytes = 0;
  std::error_code ignored;
  for (fs::recursive_directory_iterator it(directory, ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    std::error_code error;
    const std::uintmax_t size = it->is_regular_file(error) ? it->file_size(error) : 0;
    if (!error) bytes += size;
  }
  return bytes;
}

}  // namespace

ScratchDirectory::ScratchDirectory(fs::path parent) : parent_(std::move(parent)) {
  remove_left_overs();
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;  // the next node here removes it
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

// Whose lock can be had belongs to nobody who lives; without one it may just have been made.
void ScratchDirectory::remove_left_overs() const {
  for (const fs::path& path : entries_of(parent_)) {
    std::error_code ignored;
    if (!path.filename().string().starts_with(scratch_prefix) || !is_own_directory(path)) continue;
    if (!fs::exists(path / store::lock_file, ignored)) continue;
    const auto lock = store::DirectoryLock::acquire(path, std::chrono::milliseconds(0));
    if (lock) fs::remove_all(path, ignored);
  }
}

Expected<void> ScratchDirectory::make() {
  std::string name = (parent_ / scratch_prefix).string() + "XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    return Error{ErrorCode::io, "cannot make a directory in " + parent_.string() + ": " +
                                    std::generic_category().message(errno)};
  }
  path_ = name;
  auto lock = store::DirectoryLock::acquire(path_, std::chrono::milliseconds(0));
  if (!lock) return lock.error();
  lock_.emplace(std::move(*lock));
  std::error_code ignored;
  const fs::space_info space = fs::space(path_, ignored);
  most_kept_bytes_ = ignored ? 0 : space.available / 4;
  return {};
}

Expected<fs::path> ScratchDirectory::open(const std::string& experiment_id) {
  if (path_.empty()) {
    if (const auto made = make(); !made) return made.error();
  }
  fs::path experiment = path_ / experiment_id;
  std::error_code error;
  for (const fs::path& other : entries_of(path_)) {
    if (other != experiment && fs::is_directory(other, error)) fs::remove_all(other, error);
  }
  fs::create_directory(experiment, error);
  if (error) {
    return Error{ErrorCode::io, "cannot make " + experiment.string() + ": " + error.message()};
  }
  return experiment;
}

std::vector<KeptDirectory> ScratchDirectory::tidy() const {
  std::vector<KeptDirectory> kept;
  std::error_code ignored;
  if (path_.empty()) return kept;
  for (const fs::path& experiment : entries_of(path_)) {
    for (const fs::path& trial : entries_of(experiment)) {
      for (const fs::path& entry : entries_of(trial)) {
        if (is_checkpoint(entry)) {
          kept.push_back({entry.lexically_relative(experiment).string(), size_of(entry)});
        } else {
          fs::remove_all(entry, ignored);
        }
      }
    }
  }
  return kept;
}

void ScratchDirectory::clear() const {
  std::error_code ignored;
  if (path_.empty()) return;
  for (const fs::path& entry : entries_of(path_)) {
    if (fs::is_directory(entry, ignored)) fs::remove_all(entry, ignored);
  }
}

}  // namespace tune::runtime
