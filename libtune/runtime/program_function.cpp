#include "program_function.hpp"

#include <link.h>

#include <cstdint>
#include <cstdlib>

namespace tune::runtime {
namespace {

constexpr std::string_view function_prefix = "function:";

struct ProgramCode {
  std::uintptr_t base = 0;  // where the program is loaded
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

/// Of the program itself: the first object there is.
int find_program_code(dl_phdr_info* object, std::size_t, void* data) {
  auto& code = *static_cast<ProgramCode*>(data);
  code.base = object->dlpi_addr;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    code.begin = code.base + segment.p_vaddr;
    code.end = code.begin + segment.p_memsz;
  }
  return 1;  // no further object
}

ProgramCode program_code() {
  ProgramCode code;
  ::dl_iterate_phdr(find_program_code, &code);
  return code;
}

}  // namespace

std::string program_function_key(PlainFunction function) {
  const ProgramCode code = program_code();
  const auto address = reinterpret_cast<std::uintptr_t>(function);
  if (address < code.begin || address >= code.end) return {};
  return std::string(function_prefix) + std::to_string(address - code.base);
}

std::optional<PlainFunction> program_function(std::string_view key) {
  if (!key.starts_with(function_prefix)) return std::nullopt;
  const std::string offset(key.substr(function_prefix.size()));
  const std::uintptr_t address = program_code().base + std::strtoull(offset.c_str(), nullptr, 10);
  return reinterpret_cast<PlainFunction>(address);
}

}  // namespace tune::runtime
