#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tune::test {

/// If the arguments ask for it, runs a search whose trials never end, below the directory given.
/// Its exit code; empty: this is a test program.
std::optional<int> serve_as_search(int argc, char** argv);

/// This program as such a search, in a process that a test can kill.
class SearchOfItsOwn {
 public:
  explicit SearchOfItsOwn(const std::filesystem::path& storage);
  ~SearchOfItsOwn();
  SearchOfItsOwn(const SearchOfItsOwn&) = delete;
  SearchOfItsOwn& operator=(const SearchOfItsOwn&) = delete;

  /// Waits until trials run in `count` workers, each with a child of its own.
  void wait_for_trials(int count) const;
  void kill(int signal) const;

 private:
  std::filesystem::path storage_;
  pid_t pid_ = 0;
};

/// The processes, without those that have ended, that descend from a search below `storage`.
[[nodiscard]] std::vector<pid_t> descendants_of_search(const std::filesystem::path& storage);

}  // namespace tune::test
