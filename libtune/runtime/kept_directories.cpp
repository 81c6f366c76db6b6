#include "runtime/kept_directories.hpp"

namespace tune::runtime {

void KeptDirectories::use(const std::string& directory) { ++entries_[directory].users; }

void KeptDirectories::release(const std::string& directory, std::uint64_t size_bytes) {
  const auto found = entries_.find(directory);
  if (found == entries_.end()) return;  // it was forgotten meanwhile
  Entry& entry = found->second;
  if (entry.users > 0) --entry.users;
  entry.size_bytes = size_bytes;
  entry.released = ++releases_;
}

std::vector<std::string> KeptDirectories::take_surplus() {
  std::uint64_t bytes = 0;
  std::map<std::uint64_t, std::string> unused;  // by their release
  for (const auto& [directory, entry] : entries_) {
    if (entry.users > 0) continue;
    bytes += entry.size_bytes;
    unused.emplace(entry.released, directory);
  }
  std::vector<std::string> surplus;
  for (const auto& [released, directory] : unused) {
    if (bytes <= most_bytes_) break;
    bytes -= entries_.at(directory).size_bytes;
    entries_.erase(directory);
    surplus.push_back(directory);
  }
  return surplus;
}

}  // namespace tune::runtime
