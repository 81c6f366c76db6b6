#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

#include <tune/ids.hpp>

namespace tune::runtime {

/// The trial whose directory a path within the experiment begins with: see trial_directory_name().
[[nodiscard]] inline TrialId trial_of_path(std::string_view path) {
  std::uint64_t number = 0;
  std::from_chars(path.data(), path.data() + path.size(), number);
  return TrialId(number);
}

}  // namespace tune::runtime
