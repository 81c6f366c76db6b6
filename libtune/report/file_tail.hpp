#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace tune::report {

/// The end of a file, as much of it as is asked for.
class FileTail {
 public:
  explicit FileTail(const std::filesystem::path& path);

  /// Reads the last `size_bytes` bytes, or all if there are fewer. False if that cannot be done.
  [[nodiscard]] bool read(std::size_t size_bytes);
  /// What was read last.
  [[nodiscard]] std::string_view text() const { return text_; }
  /// True if that is the whole file.
  [[nodiscard]] bool is_all() const { return text_.size() == size_bytes_; }

 private:
  std::ifstream file_;
  std::uint64_t size_bytes_ = 0;
  std::string text_;
};

/// True if there is no such file, or an empty one.
[[nodiscard]] bool is_empty_file(const std::filesystem::path& path);

}  // namespace tune::report
