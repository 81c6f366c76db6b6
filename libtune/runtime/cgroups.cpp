#include "runtime/cgroups.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;

/// One mounted hierarchy, a line of mountinfo.
struct CgroupMount {
  std::string group;  // which group of the hierarchy is seen at `point`
  std::string point;
  std::string type;     // "cgroup" or "cgroup2"
  std::string options;  // of the file system: v1 names its controllers here
};

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool lists_name(const std::string& names, std::string_view name) {
  const std::vector<std::string> all = parts_of(names, ',');
  return std::find(all.begin(), all.end(), name) != all.end();
}

bool is_octal(char digit) { return digit >= '0' && digit <= '7'; }

/// mountinfo writes a space in a path as \040.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) &&
                           is_octal(text[i + 2]) && is_octal(text[i + 3]);
    if (!is_escape) {
      plain += text[i];
      continue;
    }
    plain +=
        static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0');
    i += 3;
  }
  return plain;
}

/// Lines as proc(5) has them: `36 35 98:0 /group /point rw,noatime master:1 - cgroup cgroup
/// rw,cpu`.
std::vector<CgroupMount> cgroup_mounts(const fs::path& root) {
  std::vector<CgroupMount> mounts;
  const std::string text = read_control_file(root / "proc/self/mountinfo").value_or("");
  for (const std::string& line : parts_of(text, '\n')) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const std::vector<std::string> place = words_of(line.substr(0, dash));
    const std::vector<std::string> system = words_of(line.substr(dash + 3));
    if (place.size() < 5 || system.empty()) continue;
    if (system[0] != "cgroup" && system[0] != "cgroup2") continue;
    mounts.push_back({unescaped(place[3]), unescaped(place[4]), system[0], system.back()});
  }
  return mounts;
}

/// The path of this process's group, from a line `4:memory:/a/b` or, for v2 with its empty
/// controller, `0::/a/b`.
std::optional<std::string> group_path(const fs::path& root, std::string_view controller) {
  const std::string text = read_control_file(root / "proc/self/cgroup").value_or("");
  for (const std::string& line : parts_of(text, '\n')) {
    const std::size_t first = line.find(':');
    if (first == std::string::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_it = controller.empty() ? line.compare(0, second, "0:") == 0
                                          : lists_name(controllers, controller);
    if (is_it) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// `path` as seen from `group`; empty if it lies elsewhere.
std::optional<std::string> path_below(const std::string& group, const std::string& path) {
  // A group outside of our namespace's part of the tree shows as "/../other".
  if (path.empty() || path[0] != '/' || path.find("/..") != std::string::npos) return std::nullopt;
  if (group == "/") return path.substr(1);
  if (path == group) return "";
  if (path.size() > group.size() && path.compare(0, group.size(), group) == 0 &&
      path[group.size()] == '/') {
    return path.substr(group.size() + 1);
  }
  return std::nullopt;
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::optional<Cgroup> find_cgroup(const fs::path& root, std::string_view controller) {
  const std::optional<std::string> path = group_path(root, controller);
  if (!path) return std::nullopt;
  std::optional<Cgroup> top;
  for (const CgroupMount& mount : cgroup_mounts(root)) {
    const bool is_v2 = mount.type == "cgroup2";
    if (is_v2 != controller.empty() || (!is_v2 && !lists_name(mount.options, controller))) continue;
    const fs::path point = root / fs::path(mount.point).relative_path();
    if (!is_folder(point)) continue;
    Cgroup cgroup{.version = is_v2 ? 2 : 1, .mount = point, .directory = point};
    if (const std::optional<std::string> relative = path_below(mount.group, *path)) {
      if (!relative->empty()) cgroup.directory /= *relative;
      if (is_folder(cgroup.directory)) return cgroup;
      cgroup.directory = point;
    }
    if (!top) top = cgroup;
  }
  return top;
}

}  // namespace

std::vector<fs::path> Cgroup::lineage() const {
  std::vector<fs::path> groups = {directory};
  while (groups.back() != mount && groups.back().has_relative_path()) {
    groups.push_back(groups.back().parent_path());
  }
  return groups;
}

std::optional<Cgroup> find_cgroup_v1(std::string_view controller, const fs::path& root) {
  return find_cgroup(root, controller);
}

std::optional<Cgroup> find_cgroup_v2(const fs::path& root) { return find_cgroup(root, ""); }

std::optional<std::string> read_control_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::getline(file, text, '\0');  // all of it: there are no zeros in such files
  if (!file.is_open() || file.bad()) return std::nullopt;
  return text;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return std::nullopt;
  text = text.substr(begin, text.find_last_not_of(space) + 1 - begin);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  return {std::istream_iterator<std::string>(stream), {}};
}

}  // namespace tune::runtime
