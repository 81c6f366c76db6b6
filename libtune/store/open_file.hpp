#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tune/error.hpp>

namespace tune::store {

/// Owns the descriptor of an open file or directory.
class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  OpenFile(OpenFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~OpenFile();

  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

/// Opens what is at `path` below the directory `root`, itself given by its path, and follows no
/// link on the way there. `flags` and `mode` as for open(2). @pre is_path_within(path)
[[nodiscard]] Expected<OpenFile> open_below(const std::filesystem::path& root,
                                            std::string_view path, int flags, mode_t mode = 0);

/// Reads `bytes.size()` bytes at `offset`, or up to the end of the file: how many there were.
/// `path` is for the error.
[[nodiscard]] Expected<std::size_t> read_at(const OpenFile& file, std::uint64_t offset,
                                            std::span<char> bytes,
                                            const std::filesystem::path& path);

/// Writes all of it at `offset`.
[[nodiscard]] Expected<void> write_at(const OpenFile& file, std::uint64_t offset,
                                      std::span<const char> bytes,
                                      const std::filesystem::path& path);

/// XXH3-128 of `size_bytes` bytes at `offset`, in hexadecimal digits. What ends before is an error.
[[nodiscard]] Expected<std::string> hash_block(const OpenFile& file, std::uint64_t offset,
                                               std::uint64_t size_bytes,
                                               const std::filesystem::path& path);

}  // namespace tune::store
