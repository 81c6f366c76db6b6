#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tune::runtime {

/// A directory of a trial's that is at a node, "00003_x=1/checkpoint_000006".
struct KeptDirectory {
  std::string directory;
  std::uint64_t size_bytes = 0;
};

/// What a node keeps of checkpoints though no trial that runs there needs them: one may come back.
/// Beyond a bound those go that were needed longest ago.
class KeptDirectories {
 public:
  explicit KeptDirectories(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  /// Somebody needs it, until as many release().
  void use(const std::string& directory);
  void release(const std::string& directory, std::uint64_t size_bytes);
  /// It is no more, or will be at once.
  void forget(const std::string& directory) { entries_.erase(directory); }
  /// What is to be removed now; it is forgotten.
  [[nodiscard]] std::vector<std::string> take_surplus();

 private:
  struct Entry {
    std::uint64_t users = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t released = 0;  // as the how manieth
  };

  std::uint64_t most_bytes_;
  std::uint64_t releases_ = 0;
  std::map<std::string, Entry> entries_;
};

}  // namespace tune::runtime
