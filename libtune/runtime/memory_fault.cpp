#include "runtime/memory_fault.hpp"

#include <string_view>

#include <tune/resources.hpp>

namespace tune::runtime {
namespace {

bool tells_of_refusal(std::string_view text) {
  return text.find("bad_alloc") != std::string_view::npos ||
         text.find("Cannot allocate memory") != std::string_view::npos;
}

}  // namespace

std::string explain_memory(std::string fault, std::uint64_t limit, MemoryEnd end) {
  const bool is_known =
      end == MemoryEnd::killed || (end == MemoryEnd::refused && tells_of_refusal(fault));
  if (!is_known) return fault;
  ResourceAmounts amounts;
  amounts.set("memory", static_cast<std::int64_t>(limit));
  return "exceeded its grant of " + amounts.describe() + ": " + fault;
}

}  // namespace tune::runtime
