#pragma once

#include <cstdint>
#include <string>

namespace tune::runtime {

/// What its guardian knows of the memory of a worker that has ended.
enum class MemoryEnd {
  kept,     ///< It had no limit, or the kernel killed nobody for it.
  killed,   ///< The kernel has killed a process of it for its memory.
  refused,  ///< Its limit was of the kind that refuses memory; whether it has is not known.
};

/// The text of a trial's fault, and before it that the trial has exceeded its memory of `limit`
/// bytes, where that is known or the text shows it: by the words that C++ and C have for memory
/// that was refused.
[[nodiscard]] std::string explain_memory(std::string fault, std::uint64_t limit, MemoryEnd end);

}  // namespace tune::runtime
