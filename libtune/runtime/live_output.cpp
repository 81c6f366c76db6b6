#include "live_output.hpp"

#include <unistd.h>

#include <string>
#include <utility>

namespace tune::runtime {

LiveOutput::LiveOutput() : output_(STDERR_FILENO) {}

void LiveOutput::show(std::string_view line) {
  if (!output_.is_ready()) {
    ++left_out_;
    return;
  }
  // All below the cursor is the display's; it draws itself anew below the line.
  std::string text = output_.is_terminal() ? "\x1b[J" : "";
  if (left_out_ > 0) {
    text += "[tune: " + std::to_string(std::exchange(left_out_, 0)) +
            " lines of output are in the trials' files only]\n";
  }
  output_.write(text.append(line));
}

}  // namespace tune::runtime
