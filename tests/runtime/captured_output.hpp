#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "run_support.hpp"
#include "support/temporary_folder.hpp"

namespace tune::test {

/// While it lives, what the process writes to `descriptor` goes to `target` instead.
class Redirected {
 public:
  Redirected(int descriptor, int target) : descriptor_(descriptor), previous_(::dup(descriptor)) {
    REQUIRE(::dup2(target, descriptor) == descriptor);
  }
  ~Redirected() {
    ::dup2(previous_, descriptor_);
    ::close(previous_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  int descriptor_;
  int previous_;
};

/// What `run` writes to stdout and stderr, which are files meanwhile.
template <class Run>
std::pair<std::string, std::string> output_of(const Run& run) {
  const TemporaryFolder folder;
  std::array<int, 2> files{};
  for (int i = 0; i < 2; ++i) {
    const std::string path = (folder.path() / std::to_string(i)).string();
    files.at(i) = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    REQUIRE(files.at(i) >= 0);
  }
  {
    const Redirected out(STDOUT_FILENO, files[0]);
    const Redirected err(STDERR_FILENO, files[1]);
    run();
  }
  for (const int file : files) ::close(file);
  return {read_text(folder.path() / "0"), read_text(folder.path() / "1")};
}

}  // namespace tune::test
