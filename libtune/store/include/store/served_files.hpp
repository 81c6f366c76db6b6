#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tune/error.hpp>

#include "store/file_list.hpp"
#include "store/transfer_cursor.hpp"

namespace tune::store {

/// Whether another machine may ask for a directory of an experiment: it stands below a trial's
/// ("00003_x=1/checkpoint_000006"), and no part of its name begins with a dot, as of what is half.
[[nodiscard]] bool is_served_directory(std::string_view path);

/// Reads for other machines what stands below an experiment's directory, and nothing else: no path
/// that they give leads out of it, through a link neither. Errors name path and reason.
class ServedFiles {
 public:
  explicit ServedFiles(std::filesystem::path experiment) : experiment_(std::move(experiment)) {}

  /// What is in `directory`, as list_tree() and check_file_list() have it. That it is not there is
  /// an error of code `not_found`.
  [[nodiscard]] Expected<FileList> list(const std::string& directory) const;
  /// All of a piece of a file that is in `directory`; at most `piece_bytes`. A file that has become
  /// shorter, or is gone, is an error.
  [[nodiscard]] Expected<std::vector<char>> read(const std::string& directory,
                                                 const std::string& file, std::uint64_t offset,
                                                 std::uint32_t size_bytes) const;
  /// As read(), but the hash of it; at most `hash_block_bytes`.
  [[nodiscard]] Expected<std::string> hash(const std::string& directory, const std::string& file,
                                           std::uint64_t offset, std::uint32_t size_bytes) const;

 private:
  std::filesystem::path experiment_;
};

}  // namespace tune::store
