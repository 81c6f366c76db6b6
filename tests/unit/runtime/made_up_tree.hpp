#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "support/temporary_folder.hpp"

namespace tune::runtime {

/// A folder that looks like "/" to what reads /proc/self and control groups.
class MadeUpTree {
 public:
  MadeUpTree() { write("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n"); }

  [[nodiscard]] const std::filesystem::path& root() const { return folder_.path(); }

  MadeUpTree& write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = root() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return *this;
  }

  /// This process's groups: lines as in /proc/self/cgroup.
  MadeUpTree& groups(const std::string& lines) { return write("proc/self/cgroup", lines); }

  /// One more v1 hierarchy, mounted at /cg/<controllers>; `group` is what is seen there.
  MadeUpTree& mount_v1(const std::string& controllers, const std::string& group = "/") {
    return mount("40 30 0:35 " + group + " /cg/" + controllers +
                     " rw,nosuid shared:9 - cgroup cgroup rw," + controllers,
                 "cg/" + controllers);
  }

  /// The v2 hierarchy, mounted at /cg/unified.
  MadeUpTree& mount_v2(const std::string& group = "/") {
    return mount("41 30 0:36 " + group + " /cg/unified rw,nosuid - cgroup2 cgroup2 rw,nsdelegate",
                 "cg/unified");
  }

  MadeUpTree& mount(const std::string& line, const std::string& folder) {
    mounts_ += line + "\n";
    std::filesystem::create_directories(root() / folder);
    return write("proc/self/mountinfo", mounts_);
  }

 private:
  test::TemporaryFolder folder_;
  std::string mounts_ = "23 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n";
};

}  // namespace tune::runtime
