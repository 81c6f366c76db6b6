#include "store/file_list.hpp"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include <tune/json.hpp>

#include "core/number_text.hpp"
#include "durable.hpp"

namespace tune::store {
namespace {

std::string shown(const std::string& text) { return core::value_text(Json(text)); }

/// The first part of `path`, which it loses.
std::string_view take_part(std::string_view& path) {
  const std::size_t slash = path.find('/');
  const std::string_view part = path.substr(0, slash);
  path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  return part;
}

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

/// Parts of `path` above which it stands.
std::ptrdiff_t depth_of(std::string_view path) { return std::count(path.begin(), path.end(), '/'); }

/// Whether a link at `path` leads to a place below the directory, wherever other such links lead:
/// so ".." only stands at the beginning, where it goes up through directories that are no links.
bool stays_within(std::string_view path, std::string_view target) {
  if (target.empty() || target.front() == '/') return false;
  if (target.find('\0') != std::string_view::npos) return false;
  std::ptrdiff_t ups = 0;
  bool goes_down = false;
  while (!target.empty()) {
    const std::string_view part = take_part(target);
    if (part == ".." && (goes_down || ++ups > depth_of(path))) return false;
    goes_down = goes_down || (part != ".." && part != "." && !part.empty());
  }
  return true;
}

Error bad_list(const FileEntry& entry, const std::string& what) {
  return {ErrorCode::damaged, shown(entry.path) + " " + what};
}

Expected<void> list_below(const std::filesystem::path& directory, const std::string& prefix,
                          FileList& list) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    FileEntry entry{.path = prefix + it->path().filename().generic_string()};
    const fs::file_status status = it->symlink_status(error);
    if (error) break;
    if (list.size() == most_entries) {
      return Error{ErrorCode::io, "more than " + std::to_string(most_entries) + " files below " +
                                      directory.string()};
    }
    if (fs::is_directory(status)) {
      entry.kind = EntryKind::directory;
      list.push_back(entry);
      const auto listed = list_below(it->path(), entry.path + "/", list);
      if (!listed) return listed;
    } else if (fs::is_symlink(status)) {
      entry.kind = EntryKind::link;
      entry.target = fs::read_symlink(it->path(), error).string();
      if (error) break;
      list.push_back(std::move(entry));
    } else if (fs::is_regular_file(status)) {
      entry.size_bytes = fs::file_size(it->path(), error);
      if (error) break;
      entry.is_executable = (status.permissions() & fs::perms::owner_exec) != fs::perms::none;
      list.push_back(std::move(entry));
    }
  }
  if (error) return errno_error("cannot read", directory, error.value());
  return {};
}

}  // namespace

Expected<FileList> list_tree(const std::filesystem::path& directory) {
  FileList list;
  if (const auto listed = list_below(directory, {}, list); !listed) return listed.error();
  std::sort(list.begin(), list.end(),
            [](const FileEntry& a, const FileEntry& b) { return a.path < b.path; });
  if (auto checked = check_file_list(list); !checked) {
    return Error{ErrorCode::io, directory.string() + ": " + checked.error().message};
  }
  return list;
}

Expected<void> check_file_list(const FileList& list) {
  std::set<std::string_view> directories{""};
  const FileEntry* before = nullptr;
  std::uint64_t bytes_left = most_bytes;
  for (const FileEntry& entry : list) {
    if (!is_path_within(entry.path)) return bad_list(entry, "is no path within the directory");
    if (before != nullptr && !(before->path < entry.path)) {
      return bad_list(entry, "stands behind " + shown(before->path) + " in the list");
    }
    before = &entry;
    if (!directories.contains(parent_of(entry.path))) {
      return bad_list(entry, "does not stand in a directory of the list");
    }
    if (entry.size_bytes > bytes_left) {
      return bad_list(entry, "has " + std::to_string(entry.size_bytes) +
                                 " bytes; all together may have " + std::to_string(most_bytes));
    }
    bytes_left -= entry.size_bytes;
    if (entry.kind > EntryKind::link) return bad_list(entry, "is of no kind that is known");
    if (entry.kind == EntryKind::directory) {
      directories.insert(entry.path);
    } else if (entry.kind == EntryKind::link && !stays_within(entry.path, entry.target)) {
      return bad_list(entry,
                      "is a link to " + shown(entry.target) + ", which may leave the directory");
    }
  }
  return {};
}

Expected<FileList> choose_listed(FileList list, const core::CheckpointManifest& manifest) {
  FileList chosen;
  auto want = manifest.begin();
  const auto missing = [](const core::CheckpointFile& file) {
    return Error{ErrorCode::damaged, file.path + " is missing"};
  };
  for (FileEntry& entry : list) {
    if (want != manifest.end() && want->path < entry.path) return missing(*want);
    if (want == manifest.end() || want->path != entry.path) {
      if (entry.kind == EntryKind::directory) chosen.push_back(std::move(entry));
      continue;
    }
    if (entry.kind == EntryKind::directory) {
      return Error{ErrorCode::damaged, want->path + " is a directory"};
    }
    const std::uint64_t size_bytes =
        entry.kind == EntryKind::link ? entry.target.size() : entry.size_bytes;
    if (size_bytes != want->size_bytes) {
      return Error{ErrorCode::damaged, want->path + ": " + std::to_string(size_bytes) +
                                           " bytes, want " + std::to_string(want->size_bytes)};
    }
    chosen.push_back(std::move(entry));
    ++want;
  }
  if (want != manifest.end()) return missing(*want);
  return chosen;
}

bool is_path_within(std::string_view path) {
  if (path.empty() || path.back() == '/') return false;
  if (path.find('\0') != std::string_view::npos) return false;
  while (!path.empty()) {
    const std::string_view part = take_part(path);
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

}  // namespace tune::store
