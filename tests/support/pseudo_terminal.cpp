#include "support/pseudo_terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace tune::test {

bool has_pseudo_terminals() {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) return false;
  const bool is_granted = ::grantpt(terminal) == 0;
  ::close(terminal);
  return is_granted;
}

}  // namespace tune::test
