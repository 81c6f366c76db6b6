#pragma once

#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/skip.hpp"
#include "support/temporary_folder.hpp"

namespace tune::test {

/// A file system of its own in memory, of a given size; where that may be made.
class SmallDisk {
 public:
  explicit SmallDisk(std::size_t bytes) {
    const std::string size = "size=" + std::to_string(bytes);
    is_mounted_ = ::mount("tmpfs", path().c_str(), "tmpfs", 0, size.c_str()) == 0;
    if (!is_mounted_) skip_test(std::string("no file system may be mounted: ") + strerror(errno));
  }
  ~SmallDisk() {
    if (is_mounted_) ::umount2(path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  /// False: the test case has been skipped.
  [[nodiscard]] bool is_there() const { return is_mounted_; }
  [[nodiscard]] std::filesystem::path path() const { return folder_.path(); }
  [[nodiscard]] const TemporaryFolder& folder() const { return folder_; }

  /// Takes all the room that is left.
  void fill() const {
    std::ofstream out(filler(), std::ios::binary | std::ios::app);
    const std::string page(4096, 'x');
    while (out.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
    }
  }
  void make_room() const { std::filesystem::remove(filler()); }
  void forbid_writing() const {
    ::mount(nullptr, path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr);
  }

 private:
  [[nodiscard]] std::filesystem::path filler() const { return path() / "filler"; }

  TemporaryFolder folder_;
  bool is_mounted_ = false;
};

}  // namespace tune::test
