#pragma once

#include <cstdint>
#include <string_view>

#include "report/display_output.hpp"

namespace tune::runtime {

/// Prints lines of the trials' output on stderr, among what the progress display shows. Never
/// waits: lines that a slow reader keeps from being printed are counted and left out.
class LiveOutput {
 public:
  LiveOutput();
  /// `line` with its end.
  void show(std::string_view line);

 private:
  report::DescriptorOutput output_;
  std::uint64_t left_out_ = 0;
};

}  // namespace tune::runtime
