#include "store/checkpoint_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <system_error>
#include <utility>

#include "checkpoint_files.hpp"
#include "durable.hpp"
#include "store/trial_package.hpp"

namespace tune::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view checkpoint_prefix = "checkpoint_";
constexpr std::string_view temporary_prefix = CheckpointStore::temporary_prefix;

Error make_io_error(std::string_view what, const fs::path& path, const std::error_code& reason) {
  return {ErrorCode::io, std::string(what) + " " + path.string() + ": " + reason.message()};
}

/// Says of which checkpoint `error` is, if that is damaged. A trial's directory begins with its id.
Error of_checkpoint(const std::string& trial, const std::string& checkpoint, Error error) {
  if (error.code == ErrorCode::damaged) {
    error.message = checkpoint + " of trial " + trial.substr(0, trial.find('_')) +
                    " is damaged: " + error.message;
  }
  return error;
}

/// A name beside `target` that nobody else uses: trials of one process and several processes may
/// write the same checkpoint at once, as when an abandoned start of a trial goes on writing.
fs::path temporary_name(const fs::path& target) {
  static std::atomic<std::uint64_t> next{0};
  return target.parent_path() / (std::string(temporary_prefix) + target.filename().string() + "-" +
                                 std::to_string(::getpid()) + "-" + std::to_string(next++));
}

/// Whether process `writer` has given a temporary this name.
bool is_temporary_of(std::string_view name, std::int64_t writer) {
  if (!name.starts_with(temporary_prefix)) return false;
  name.remove_suffix(name.size() - name.rfind('-'));  // the number behind the process
  return name.ends_with("-" + std::to_string(writer));
}

/// Links or copies a tree; links refused by the file system become copies.
std::error_code link_tree(const fs::path& from, const fs::path& to) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(from, error), end; !error && it != end;
       it.increment(error)) {
    const fs::path target = to / it->path().lexically_relative(from);
    const fs::file_status status = it->symlink_status(error);
    if (error) break;
    if (fs::is_symlink(status)) {  // a link to a directory, too, is no directory
      fs::copy_symlink(it->path(), target, error);
    } else if (fs::is_directory(status)) {
      fs::create_directory(target, error);
    } else {
      fs::create_hard_link(it->path(), target, error);
      if (error) fs::copy_file(it->path(), target, error);
    }
    if (error) break;
  }
  return error;
}

}  // namespace

PendingCheckpoint::PendingCheckpoint(fs::path temporary, fs::path target)
    : temporary_(std::move(temporary)), target_(std::move(target)) {}

PendingCheckpoint::PendingCheckpoint(PendingCheckpoint&& other) noexcept
    : temporary_(std::exchange(other.temporary_, {})), target_(std::move(other.target_)) {}

PendingCheckpoint::~PendingCheckpoint() {
  std::error_code ignored;  // what stays behind has no checkpoint's name
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

Expected<core::CheckpointManifest> PendingCheckpoint::commit() {
  TUNE_ASSERT(!temporary_.empty());
  auto manifest = sync_and_list(temporary_);
  if (!manifest) return manifest;
  if (const auto renamed = rename(); !renamed) return renamed.error();
  return manifest;
}

Expected<void> PendingCheckpoint::rename() {
  if (const auto renamed = replace_directory(temporary_, target_); !renamed) return renamed;
  temporary_.clear();
  return sync_directory(target_.parent_path());
}

fs::path CheckpointStore::path(const std::string& trial, const std::string& checkpoint) const {
  return experiment_ / trial / checkpoint;
}

Expected<PendingCheckpoint> CheckpointStore::begin(const std::string& trial,
                                                   const std::string& checkpoint) const {
  const fs::path target = path(trial, checkpoint);
  const fs::path temporary = temporary_name(target);
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  if (!error && !fs::create_directory(temporary, error) && !error) {
    error = std::make_error_code(std::errc::file_exists);
  }
  if (error) return make_io_error("cannot make", temporary, error);
  return PendingCheckpoint(temporary, target);
}

Expected<core::CheckpointManifest> CheckpointStore::adopt(const std::string& source_trial,
                                                          const std::string& source_checkpoint,
                                                          const core::CheckpointManifest* manifest,
                                                          const std::string& trial,
                                                          const std::string& checkpoint) const {
  if (const auto there = require_directory(source_trial, source_checkpoint); !there) {
    return there.error();
  }
  auto pending = begin(trial, checkpoint);
  if (!pending) return pending.error();
  const fs::path source = path(source_trial, source_checkpoint);
  if (const std::error_code error = link_tree(source, pending->path())) {
    return make_io_error("cannot copy checkpoint", source, error);
  }
  // One reading of what was made tells whether the original is sound as well.
  auto made = sync_and_list(pending->path());
  if (!made) return made;
  const std::string damage = manifest == nullptr ? "" : describe_damage(*made, *manifest);
  if (!damage.empty()) {
    return of_checkpoint(source_trial, source_checkpoint, {ErrorCode::damaged, damage});
  }
  if (const auto renamed = pending->rename(); !renamed) return renamed.error();
  return made;
}

Expected<void> CheckpointStore::require_directory(const std::string& trial,
                                                  const std::string& checkpoint) const {
  const fs::path directory = path(trial, checkpoint);
  std::error_code error;
  const fs::file_status status = fs::symlink_status(directory, error);
  if (fs::is_directory(status)) return {};
  if (!fs::status_known(status)) return make_io_error("cannot read checkpoint", directory, error);
  const std::string fault = fs::exists(status) ? directory.string() + " is no directory"
                                               : "there is no directory " + directory.string();
  return of_checkpoint(trial, checkpoint, {ErrorCode::damaged, fault});
}

Expected<void> CheckpointStore::verify(const std::string& trial, const std::string& checkpoint,
                                       const core::CheckpointManifest& manifest) const {
  if (const auto there = require_directory(trial, checkpoint); !there) return there;
  const auto compared = compare_files(path(trial, checkpoint), manifest);
  if (!compared) return of_checkpoint(trial, checkpoint, compared.error());
  return {};
}

Expected<void> CheckpointStore::remove(const std::string& trial,
                                       const std::string& checkpoint) const {
  // First it loses its name, so that nobody finds a half one while its files go.
  const fs::path target = path(trial, checkpoint);
  const fs::path doomed = temporary_name(target);
  std::error_code error;
  fs::rename(target, doomed, error);
  if (error == std::errc::no_such_file_or_directory) return {};
  if (error) return make_io_error("cannot remove checkpoint", target, error);
  fs::remove_all(doomed, error);
  if (error) return make_io_error("cannot remove checkpoint", doomed, error);
  return {};
}

Expected<void> CheckpointStore::remove_unfinished(const std::string& trial,
                                                  std::int64_t writer) const {
  std::error_code error;
  const fs::path directory = experiment_ / trial;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (!is_temporary_of(it->path().filename().string(), writer)) continue;
    std::error_code failure;
    fs::remove_all(it->path(), failure);
    if (failure) return make_io_error("cannot remove checkpoint", it->path(), failure);
  }
  if (error == std::errc::no_such_file_or_directory) return {};
  if (error) return make_io_error("cannot read", directory, error);
  return {};
}

Expected<std::vector<std::string>> CheckpointStore::clean(const std::string& trial,
                                                          const std::set<std::string>& keep) const {
  std::vector<std::string> doomed;
  std::error_code error;
  const fs::path directory = experiment_ / trial;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    const bool is_left_over = name.starts_with(temporary_prefix) ||
                              name.starts_with(package_prefix) ||
                              (name.starts_with(checkpoint_prefix) && !keep.contains(name));
    const fs::file_status status = it->symlink_status(error);
    if (error) break;
    if (is_left_over && fs::is_directory(status)) doomed.push_back(std::move(name));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return make_io_error("cannot read", directory, error);
  }
  std::sort(doomed.begin(), doomed.end());
  for (const std::string& name : doomed) {
    if (const auto removed = remove(trial, name); !removed) return removed.error();
  }
  return doomed;
}

Expected<std::vector<std::string>> CheckpointStore::list(const std::string& trial) const {
  std::vector<std::string> names;
  std::error_code error;
  const fs::path directory = experiment_ / trial;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name.starts_with(checkpoint_prefix) && it->is_directory(error)) {
      names.push_back(std::move(name));
    }
  }
  if (error == std::errc::no_such_file_or_directory) return std::vector<std::string>{};
  if (error) return make_io_error("cannot read", directory, error);
  // Beyond six digits a longer number is a higher one.
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), std::string_view(a)) < std::pair(b.size(), std::string_view(b));
  });
  return names;
}

}  // namespace tune::store
