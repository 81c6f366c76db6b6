#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "store/journal.hpp"

namespace tune::store {
namespace {

struct NamedFileSystem {
  std::uint32_t type;  // f_type of statfs(2)
  const char* name;
};

constexpr std::uint32_t fuse_type = 0x65735546;

// Where several machines may see the file, or memory that is mapped is not shared.
constexpr std::array remote_file_systems = {
    NamedFileSystem{0x6969, "NFS"},
    NamedFileSystem{0xFF534D42, "CIFS"},
    NamedFileSystem{0xFE534D42, "SMB2"},
    NamedFileSystem{0x517B, "SMB"},
    NamedFileSystem{0x01021997, "9p"},
    NamedFileSystem{0x5346414F, "AFS"},
    NamedFileSystem{0x6B414653, "AFS"},
    NamedFileSystem{0x73757245, "Coda"},
    NamedFileSystem{0x564C, "NCP"},
    NamedFileSystem{0x0BD00BD0, "Lustre"},
    NamedFileSystem{0x47504653, "GPFS"},
    NamedFileSystem{0x19830326, "BeeGFS"},
    NamedFileSystem{0x00C36400, "Ceph"},
    NamedFileSystem{0x01161970, "GFS2"},
    NamedFileSystem{0x7461636F, "OCFS2"},
    NamedFileSystem{0xAAD7AAEA, "PanFS"},
    NamedFileSystem{0x20030528, "OrangeFS"},
    NamedFileSystem{0x786F4256, "VirtualBox shared folder"},
    NamedFileSystem{0xBACBACBC, "VMware shared folder"},
    NamedFileSystem{fuse_type, "FUSE"},
};

// What a mount of FUSE is called in mountinfo, proc(5); empty if it cannot be told.
std::string fuse_kind(const std::filesystem::path& directory) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) return {};
  const std::string device =
      std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string skipped;
    std::string mounted;
    fields >> skipped >> skipped >> mounted;
    const std::size_t separator = line.find(" - ");
    if (mounted != device || separator == std::string::npos) continue;
    const std::size_t begin = separator + 3;
    return line.substr(begin, line.find(' ', begin) - begin);
  }
  return {};
}

bool is_local_fuse(const std::filesystem::path& directory) {
  const std::string kind = fuse_kind(directory);
  return kind == "fuseblk" || kind == "fuse.fuse-overlayfs";
}

}  // namespace

std::string_view to_string(JournalMode mode) {
  return mode == JournalMode::wal ? "wal" : "rollback";
}

ChosenMode choose_journal_mode(const std::filesystem::path& directory) {
  if (const char* given = std::getenv("TUNE_JOURNAL_MODE"); given != nullptr && *given != '\0') {
    const std::string text = given;
    for (const JournalMode mode : {JournalMode::wal, JournalMode::rollback}) {
      if (text == to_string(mode)) return {mode, "TUNE_JOURNAL_MODE=" + text};
    }
    throw std::invalid_argument("TUNE_JOURNAL_MODE=" + text + " is not one of wal, rollback");
  }
  struct statfs status {};
  if (::statfs(directory.c_str(), &status) != 0) return {};  // making the journal will say why
  const auto type = static_cast<std::uint32_t>(status.f_type);
  const auto* found = std::find_if(remote_file_systems.begin(), remote_file_systems.end(),
                                   [type](const auto& known) { return known.type == type; });
  if (found == remote_file_systems.end()) return {};
  if (type == fuse_type && is_local_fuse(directory)) return {};
  return {JournalMode::rollback, directory.string() + " is on " + found->name};
}

}  // namespace tune::store
