#include <tune/init.hpp>

#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <string_view>

#include "runtime/guardian.hpp"
#include "worker_process.hpp"

namespace tune {
namespace {

std::atomic<bool> was_called{false};

void require_socket(std::string_view argument) {
  struct stat status {};
  if (::fstat(runtime::inherited_socket, &status) == 0 && S_ISSOCK(status.st_mode)) return;
  throw std::invalid_argument(std::string(argument) +
                              " is for processes that tune starts itself, and was given by hand");
}

}  // namespace

void init(int& argc, char** argv) {
  was_called = true;
  if (argc != 2) return;
  const std::string_view argument = argv[1];
  if (argument == runtime::guardian_argument) {
    require_socket(argument);
    runtime::serve_guardian();
  }
  if (argument == runtime::worker_argument) {
    require_socket(argument);
    runtime::serve_worker();
  }
}

namespace detail {

bool is_initialised() { return was_called; }

}  // namespace detail
}  // namespace tune
