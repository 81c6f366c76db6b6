#include "store/served_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <limits>
#include <system_error>

#include <tune/json.hpp>

#include "core/number_text.hpp"
#include "durable.hpp"
#include "open_file.hpp"

namespace tune::store {
namespace {

namespace fs = std::filesystem;

Error refusal(const std::string& what, const std::string& path) {
  return {ErrorCode::not_found, what + " " + core::value_text(Json(path))};
}

Error unserved(const std::string& directory) {
  return refusal("want a directory below that of a trial, not", directory);
}

/// @pre is_served_directory(directory)
Expected<OpenFile> open_served(const fs::path& experiment, const std::string& directory,
                               const std::string& file) {
  if (!is_path_within(file)) return refusal("this is no path within a directory:", file);
  auto opened = open_below(experiment, directory + "/" + file, O_RDONLY);
  if (!opened) return opened;
  struct stat status {};
  if (::fstat(opened->get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return refusal("this is no file:", directory + "/" + file);
  }
  return opened;
}

/// Whether a peer may ask for so much at once.
bool is_allowed(std::uint64_t offset, std::uint32_t size_bytes, std::uint32_t most_bytes) {
  constexpr auto last = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return size_bytes <= most_bytes && offset <= last - size_bytes;
}

Error not_allowed(std::uint64_t offset, std::uint32_t size_bytes, std::uint32_t most_bytes) {
  return {ErrorCode::not_found, std::to_string(size_bytes) + " bytes at byte " +
                                    std::to_string(offset) + ": at most " +
                                    std::to_string(most_bytes) + " at once"};
}

}  // namespace

bool is_served_directory(std::string_view path) {
  if (!is_path_within(path) || path.find('/') == std::string_view::npos) return false;
  return path.front() != '.' && path.find("/.") == std::string_view::npos;
}

Expected<FileList> ServedFiles::list(const std::string& directory) const {
  if (!is_served_directory(directory)) return unserved(directory);
  // So that no link leads to it.
  const auto opened = open_below(experiment_, directory, O_RDONLY | O_DIRECTORY);
  if (!opened) {
    std::error_code ignored;
    const bool is_gone = !fs::exists(fs::symlink_status(experiment_ / directory, ignored));
    return Error{is_gone ? ErrorCode::not_found : opened.error().code, opened.error().message};
  }
  return list_tree(experiment_ / directory);
}

Expected<std::vector<char>> ServedFiles::read(const std::string& directory, const std::string& file,
                                              std::uint64_t offset,
                                              std::uint32_t size_bytes) const {
  if (!is_served_directory(directory)) return unserved(directory);
  if (!is_allowed(offset, size_bytes, piece_bytes)) {
    return not_allowed(offset, size_bytes, piece_bytes);
  }
  const auto opened = open_served(experiment_, directory, file);
  if (!opened) return opened.error();
  const fs::path path = experiment_ / directory / file;
  std::vector<char> bytes(size_bytes);
  const auto count = read_at(*opened, offset, bytes, path);
  if (!count) return count.error();
  if (*count == bytes.size()) return bytes;
  return Error{ErrorCode::io, path.string() + " ends at byte " + std::to_string(offset + *count)};
}

Expected<std::string> ServedFiles::hash(const std::string& directory, const std::string& file,
                                        std::uint64_t offset, std::uint32_t size_bytes) const {
  if (!is_served_directory(directory)) return unserved(directory);
  if (!is_allowed(offset, size_bytes, hash_block_bytes)) {
    return not_allowed(offset, size_bytes, hash_block_bytes);
  }
  const auto opened = open_served(experiment_, directory, file);
  if (!opened) return opened.error();
  return hash_block(*opened, offset, size_bytes, experiment_ / directory / file);
}

}  // namespace tune::store
