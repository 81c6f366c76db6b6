#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tune::runtime {

/// The control group of this process in one hierarchy, as far as it can be seen from here.
struct Cgroup {
  int version = 2;                  ///< 1 or 2.
  std::filesystem::path mount;      ///< The topmost group that can be seen.
  std::filesystem::path directory;  ///< The process's own group: `mount`, or below it.

  /// The own group first, then its parents up to `mount`.
  [[nodiscard]] std::vector<std::filesystem::path> lineage() const;
};

/// This process's group in the v1 hierarchy that has `controller` ("cpu", "cpuset", "memory"),
/// after /proc/self/cgroup and /proc/self/mountinfo below `root`. Where the group's own path cannot
/// be seen, as in some containers, it is the top of what can.
[[nodiscard]] std::optional<Cgroup> find_cgroup_v1(std::string_view controller,
                                                   const std::filesystem::path& root = "/");

/// The same in the v2 hierarchy, whatever its controllers.
[[nodiscard]] std::optional<Cgroup> find_cgroup_v2(const std::filesystem::path& root = "/");

/// The text of a small file such as those of control groups; empty if it cannot be read.
[[nodiscard]] std::optional<std::string> read_control_file(const std::filesystem::path& path);

/// The decimal integer that is all of `text`, but for white space around it.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text);

/// `text` cut at white space.
[[nodiscard]] std::vector<std::string> words_of(std::string_view text);

}  // namespace tune::runtime
