#include "durable.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

namespace tune::store {

namespace fs = std::filesystem;

Error errno_error(std::string_view what, const fs::path& path, int reason) {
  return {ErrorCode::io,
          std::string(what) + " " + path.string() + ": " + std::generic_category().message(reason)};
}

Expected<void> sync_directory(const fs::path& directory) {
  const int file = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return errno_error("cannot open", directory, errno);
  const int reason = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  // A file system without fsync for directories says so; there is nothing to wait for then.
  if (reason != 0 && reason != EINVAL) return errno_error("cannot sync", directory, reason);
  return {};
}

Expected<void> replace_directory(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  if (errno != ENOTEMPTY && errno != EEXIST) return errno_error("cannot rename to", to, errno);
  // The name is taken: the two change places, and the older one goes under the temporary name.
  std::error_code error;
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0) {
    if (errno != EINVAL && errno != ENOSYS) return errno_error("cannot rename to", to, errno);
    // No exchange on this file system: for an instant nothing has the name.
    const fs::path older = from.string() + "-older";
    fs::rename(to, older, error);
    if (!error) fs::rename(from, to, error);
    if (error) return errno_error("cannot rename to", to, error.value());
    fs::remove_all(older, error);
  } else {
    fs::remove_all(from, error);
  }
  if (error) return errno_error("cannot remove the older", to, error.value());
  return {};
}

}  // namespace tune::store
