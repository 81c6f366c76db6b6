#include "durable.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

namespace tune::store {
namespace {

namespace fs = std::filesystem;

Error make_errno_error(std::string_view what, const fs::path& path, int reason) {
  return {ErrorCode::io,
          std::string(what) + " " + path.string() + ": " + std::generic_category().message(reason)};
}

Expected<void> sync_path(const fs::path& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return make_errno_error("cannot open", path, errno);
  const int reason = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  // A file system without fsync for this kind of file says so; there is nothing to wait for then.
  if (reason != 0 && reason != EINVAL) return make_errno_error("cannot sync", path, reason);
  return {};
}

}  // namespace

Expected<void> sync_directory(const fs::path& directory) {
  return sync_path(directory, O_DIRECTORY);
}

Expected<void> sync_tree(const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const fs::file_status status = it->symlink_status(error);
    if (error) break;
    Expected<void> synced;
    if (fs::is_directory(status)) {
      synced = sync_tree(it->path());
    } else if (fs::is_regular_file(status)) {
      synced = sync_path(it->path(), 0);
    }
    if (!synced) return synced;
  }
  if (error) return make_errno_error("cannot read", directory, error.value());
  return sync_directory(directory);
}

Expected<void> replace_directory(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  if (errno != ENOTEMPTY && errno != EEXIST) return make_errno_error("cannot rename to", to, errno);
  // The name is taken: the two change places, and the older one goes under the temporary name.
  std::error_code error;
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0) {
    if (errno != EINVAL && errno != ENOSYS) return make_errno_error("cannot rename to", to, errno);
    // No exchange on this file system: for an instant nothing has the name.
    const fs::path older = from.string() + "-older";
    fs::rename(to, older, error);
    if (!error) fs::rename(from, to, error);
    if (error) return make_errno_error("cannot rename to", to, error.value());
    fs::remove_all(older, error);
  } else {
    fs::remove_all(from, error);
  }
  if (error) return make_errno_error("cannot remove the older", to, error.value());
  return {};
}

}  // namespace tune::store
