#include "runtime/memory_fault.hpp"

#include <catch2/catch.hpp>

namespace tune::runtime {
namespace {

constexpr std::uint64_t limit = 64ULL << 20U;

TEST_CASE("a fault names the memory that was exceeded where that is known", "[memory_fault]") {
  CHECK(explain_memory("killed", limit, MemoryEnd::killed) ==
        "exceeded its grant of 64 MiB memory: killed");
  CHECK(explain_memory("step: std::bad_alloc", limit, MemoryEnd::refused) ==
        "exceeded its grant of 64 MiB memory: step: std::bad_alloc");
  CHECK(explain_memory("mmap: Cannot allocate memory", limit, MemoryEnd::refused) ==
        "exceeded its grant of 64 MiB memory: mmap: Cannot allocate memory");
}

TEST_CASE("a fault that has nothing to do with memory stays as it is", "[memory_fault]") {
  CHECK(explain_memory("step: boom", limit, MemoryEnd::refused) == "step: boom");
  CHECK(explain_memory("step: std::bad_alloc", 0, MemoryEnd::kept) == "step: std::bad_alloc");
}

}  // namespace
}  // namespace tune::runtime
