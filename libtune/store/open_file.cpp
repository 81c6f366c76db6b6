#include "open_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "content_hash.hpp"
#include "durable.hpp"

namespace tune::store {

namespace fs = std::filesystem;

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Expected<OpenFile> open_below(const fs::path& root, std::string_view path, int flags, mode_t mode) {
  constexpr int on_the_way = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  OpenFile directory(::open(root.c_str(), on_the_way));
  if (directory.get() < 0) return errno_error("cannot open", root, errno);
  std::size_t begin = 0;
  for (std::size_t slash = 0; (slash = path.find('/', begin)) != std::string_view::npos;
       begin = slash + 1) {
    const std::string part(path.substr(begin, slash - begin));
    OpenFile next(::openat(directory.get(), part.c_str(), on_the_way | O_NOFOLLOW));
    if (next.get() < 0) return errno_error("cannot open", root / path.substr(0, slash), errno);
    directory = std::move(next);
  }
  const std::string name(path.substr(begin));
  // Nor does it wait for a pipe's other end.
  OpenFile file(
      ::openat(directory.get(), name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode));
  if (file.get() < 0) return errno_error("cannot open", root / path, errno);
  return file;
}

Expected<std::size_t> read_at(const OpenFile& file, std::uint64_t offset, std::span<char> bytes,
                              const fs::path& path) {
  std::size_t count = 0;
  while (count < bytes.size()) {
    const ssize_t read = ::pread(file.get(), bytes.data() + count, bytes.size() - count,
                                 static_cast<off_t>(offset + count));
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return errno_error("cannot read", path, errno);
    if (read == 0) break;
    count += static_cast<std::size_t>(read);
  }
  return count;
}

Expected<void> write_at(const OpenFile& file, std::uint64_t offset, std::span<const char> bytes,
                        const fs::path& path) {
  std::size_t count = 0;
  while (count < bytes.size()) {
    const ssize_t written = ::pwrite(file.get(), bytes.data() + count, bytes.size() - count,
                                     static_cast<off_t>(offset + count));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno_error("cannot write", path, errno);
    count += static_cast<std::size_t>(written);
  }
  return {};
}

Expected<std::string> hash_block(const OpenFile& file, std::uint64_t offset,
                                 std::uint64_t size_bytes, const fs::path& path) {
  ContentHash hash;
  std::vector<char> block(std::size_t{1} << 18U);
  while (size_bytes > 0) {
    const std::span<char> part(block.data(), std::min<std::uint64_t>(block.size(), size_bytes));
    const auto count = read_at(file, offset, part, path);
    if (!count) return count.error();
    if (*count < part.size()) {
      return Error{ErrorCode::io,
                   path.string() + " ends at byte " + std::to_string(offset + *count)};
    }
    hash.add(part);
    offset += *count;
    size_bytes -= *count;
  }
  return hash.text();
}

}  // namespace tune::store
