#include "file_tail.hpp"

#include <algorithm>
#include <system_error>

namespace tune::report {

FileTail::FileTail(const std::filesystem::path& path) : file_(path, std::ios::binary) {
  std::error_code failed;
  const std::uintmax_t size_bytes = std::filesystem::file_size(path, failed);
  if (failed) {
    file_.setstate(std::ios::failbit);
  } else {
    size_bytes_ = size_bytes;
  }
}

bool FileTail::read(std::size_t size_bytes) {
  text_.resize(std::min<std::uint64_t>(size_bytes, size_bytes_));
  file_.seekg(static_cast<std::streamoff>(size_bytes_ - text_.size()));
  file_.read(text_.data(), static_cast<std::streamsize>(text_.size()));
  return file_.good();
}

bool is_empty_file(const std::filesystem::path& path) {
  std::error_code absent;
  const std::uintmax_t size_bytes = std::filesystem::file_size(path, absent);
  return absent || size_bytes == 0;
}

}  // namespace tune::report
