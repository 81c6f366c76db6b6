#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tune::test {

/// If the arguments ask for it, runs a search whose trials never end by themselves, below the
/// directory given. Its exit code; empty: this is a test program.
std::optional<int> serve_as_search(int argc, char** argv);

/// What the trials of such a search do.
enum class SearchKind {
  has_children,  ///< Each has children of its own.
  saves,         ///< Each counts, and saves at its end.
  saves_slowly,  ///< The save takes for ever.
  returns,       ///< As `saves`; tune_run() returns after a signal, and the exit code is then 5.
};

/// This program as such a search, in a process that a test can kill.
class SearchOfItsOwn {
 public:
  SearchOfItsOwn(SearchKind kind, const std::filesystem::path& storage);
  ~SearchOfItsOwn();
  SearchOfItsOwn(const SearchOfItsOwn&) = delete;
  SearchOfItsOwn& operator=(const SearchOfItsOwn&) = delete;

  /// Waits until `count` trials have made the file `name` in their directories.
  void wait_for_trials(int count, const std::string& name = "runs") const;
  void kill(int signal) const;
  /// Waits for its end. The status, as of waitpid().
  int wait();
  /// What it wrote to stderr so far.
  [[nodiscard]] std::string errors() const;

 private:
  std::filesystem::path storage_;
  pid_t pid_ = 0;
};

/// Marks this process as a search below `storage`, and all that it starts.
class SearchMark {
 public:
  explicit SearchMark(const std::filesystem::path& storage);
  ~SearchMark();
  SearchMark(const SearchMark&) = delete;
  SearchMark& operator=(const SearchMark&) = delete;
};

/// The processes, without those that have ended, that descend from a search below `storage`.
[[nodiscard]] std::vector<pid_t> descendants_of_search(const std::filesystem::path& storage);

}  // namespace tune::test
