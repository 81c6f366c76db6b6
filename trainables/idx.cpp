#include "trainables/idx.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>

#include <zlib.h>

namespace tune::trainables {
namespace {

constexpr std::uint32_t unsigned_bytes = 0x08;  // the element type in the third byte of the magic

/// An open file that reads through gzip; every fault names the file.
class GzipFile {
 public:
  explicit GzipFile(const std::filesystem::path& file) : name_(file.string()) {
    errno = 0;
    handle_.reset(gzopen(name_.c_str(), "rb"));
    if (!handle_) fail("cannot open: " + std::generic_category().message(errno));
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(name_ + ": " + what);
  }

  /// Reads as much of `bytes` as there is. @throws std::runtime_error if the file is damaged.
  std::size_t read(std::span<std::uint8_t> bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const std::size_t wanted = std::min<std::size_t>(bytes.size() - done, largest_read);
      const int count = gzread(handle_.get(), bytes.data() + done, static_cast<unsigned>(wanted));
      if (count <= 0) {
        check_stream();  // where compressed data is cut off, zlib reports the end of the file
        break;
      }
      done += static_cast<std::size_t>(count);
    }
    return done;
  }

  std::uint32_t read_big_endian(const std::string& what) {
    std::array<std::uint8_t, 4> bytes{};
    const std::size_t count = read(bytes);
    if (count < bytes.size()) {
      fail("ends inside the header: " + std::to_string(count) + " bytes of " + what + ", want 4");
    }
    return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
           std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
  }

 private:
  static constexpr std::size_t largest_read = std::size_t{1} << 20;

  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };

  void check_stream() const {
    int code = Z_OK;
    std::string text = gzerror(handle_.get(), &code);
    if (code == Z_OK || code == Z_STREAM_END) return;
    if (code == Z_ERRNO) fail("cannot read: " + std::generic_category().message(errno));
    if (text.starts_with(name_ + ": ")) text.erase(0, name_.size() + 2);
    fail("damaged: " + text);
  }

  std::string name_;
  std::unique_ptr<gzFile_s, Close> handle_;
};

std::string hexadecimal(std::uint32_t value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", static_cast<unsigned>(value));
  return text.data();
}

void check_magic(GzipFile& file, std::size_t dimensions) {
  const std::uint32_t wanted = unsigned_bytes << 8 | static_cast<std::uint32_t>(dimensions);
  const std::uint32_t magic = file.read_big_endian("magic number");
  if (magic != wanted) {
    file.fail("magic number " + hexadecimal(magic) + ", want " + hexadecimal(wanted) +
              " (unsigned bytes, " + std::to_string(dimensions) + " dimensions)");
  }
}

std::vector<std::uint8_t> read_values(GzipFile& file, std::size_t size) {
  constexpr std::size_t chunk = std::size_t{1} << 22;
  std::vector<std::uint8_t> values;
  while (values.size() < size) {
    const std::size_t begin = values.size();
    const std::size_t wanted = std::min(chunk, size - begin);
    values.resize(begin + wanted);
    const std::size_t count = file.read(std::span(values).subspan(begin));
    if (count < wanted) {
      file.fail(std::to_string(begin + count) + " values, want " + std::to_string(size));
    }
  }
  // The read beyond the end is also what makes zlib compare the checksum.
  std::array<std::uint8_t, 1> beyond{};
  if (file.read(beyond) != 0) {
    file.fail("more than the " + std::to_string(size) + " values that its header announces");
  }
  return values;
}

}  // namespace

IdxArray read_idx(const std::filesystem::path& path, std::size_t dimensions) {
  GzipFile file(path);
  check_magic(file, dimensions);
  IdxArray array;
  std::size_t size = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t length = file.read_big_endian("dimension " + std::to_string(i));
    if (length == 0) file.fail("dimension " + std::to_string(i) + " is 0, want at least 1");
    if (length > std::numeric_limits<std::size_t>::max() / size) {
      file.fail("dimension " + std::to_string(i) + " is " + std::to_string(length) +
                ": more values than can be addressed");
    }
    array.dimensions.push_back(length);
    size *= length;
  }
  array.values = read_values(file, size);
  return array;
}

}  // namespace tune::trainables
