#include "plugin_stamp.hpp"

#include <elf.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <type_traits>

#include "core/number_text.hpp"

namespace tune::runtime {
namespace {

// The layout is read from files that others have made.
static_assert(std::is_trivially_copyable_v<detail::PluginStamp>);
static_assert(offsetof(detail::PluginStamp, size) == 16);
static_assert(offsetof(detail::PluginStamp, abi) == 20);

/// The reason why a file is refused.
struct Refusal {
  std::string text;
};

/// A 64-bit ELF file of this byte order.
class ElfFile {
 public:
  explicit ElfFile(const std::filesystem::path& path) : file_(path, std::ios::binary) {
    if (!file_) throw Refusal{std::string("cannot be opened: ") + std::strerror(errno)};
    header_ = read<Elf64_Ehdr>(0);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) throw Refusal{not_elf};
    Elf64_Ehdr own{};
    std::ifstream self("/proc/self/exe", std::ios::binary);
    self.read(reinterpret_cast<char*>(&own), sizeof own);
    if (self &&
        (header_.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] ||
         header_.e_ident[EI_DATA] != own.e_ident[EI_DATA] || header_.e_machine != own.e_machine)) {
      throw Refusal{"is for another kind of machine"};
    }
    if (header_.e_type != ET_DYN) throw Refusal{not_elf};
  }

  /// The bytes of a section from its begin, at most `size`; empty if there is no such section.
  std::string section(const std::string& name, std::size_t size) {
    if (header_.e_shoff == 0 || header_.e_shstrndx >= header_.e_shnum) return {};
    const Elf64_Shdr names = section_header(header_.e_shstrndx);
    for (unsigned i = 0; i < header_.e_shnum; ++i) {
      const Elf64_Shdr header = section_header(i);
      if (header.sh_name >= names.sh_size) continue;
      // Compared with the 0 behind it.
      if (bytes(names.sh_offset + header.sh_name, name.size() + 1) != name + '\0') continue;
      return bytes(header.sh_offset, std::min<std::size_t>(size, header.sh_size));
    }
    return {};
  }

 private:
  static constexpr char not_elf[] = "is no shared library";

  Elf64_Shdr section_header(unsigned index) {
    return read<Elf64_Shdr>(header_.e_shoff + std::uint64_t{index} * header_.e_shentsize);
  }

  template <class Value>
  Value read(std::uint64_t offset) {
    const std::string text = bytes(offset, sizeof(Value));
    if (text.size() != sizeof(Value)) throw Refusal{not_elf};
    Value value;
    std::memcpy(&value, text.data(), sizeof value);
    return value;
  }

  /// Fewer where the file ends.
  std::string bytes(std::uint64_t offset, std::size_t size) {
    std::string text(size, '\0');
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    if (file_) file_.read(text.data(), static_cast<std::streamsize>(size));
    text.resize(static_cast<std::size_t>(file_.gcount()));
    return text;
  }

  std::ifstream file_;
  Elf64_Ehdr header_{};
};

template <std::size_t size>
std::string text_in(const char (&characters)[size]) {
  return {characters, ::strnlen(characters, size)};
}

void compare(const std::string& what, const std::string& theirs, const std::string& ours) {
  if (theirs == ours) return;
  throw Refusal{"was built with another " + what + ": " + core::value_text(theirs) +
                ", and tune with " + core::value_text(ours)};
}

void check_stamp(const std::string& bytes) {
  const detail::PluginStamp ours;
  detail::PluginStamp theirs{};
  if (bytes.empty()) {
    throw Refusal{"is no plugin of tune: TUNE_PLUGIN stands in none of its sources"};
  }
  constexpr std::size_t fixed_size = offsetof(detail::PluginStamp, compiler);
  std::memcpy(&theirs, bytes.data(), std::min(bytes.size(), sizeof theirs));
  if (bytes.size() < fixed_size || text_in(theirs.magic) != text_in(ours.magic)) {
    throw Refusal{"is no plugin of tune: its section " + std::string(detail::plugin_section) +
                  " holds something else"};
  }
  if (theirs.abi != ours.abi) {
    throw Refusal{"is for version " + std::to_string(theirs.abi) +
                  " of the plugin ABI, and this tune has version " + std::to_string(ours.abi) +
                  ": build it again with this tune"};
  }
  if (theirs.size != sizeof ours || bytes.size() < sizeof ours) {
    throw Refusal{"its plugin stamp has " + std::to_string(theirs.size) + " bytes, want " +
                  std::to_string(sizeof ours)};
  }
  compare("compiler", text_in(theirs.compiler), text_in(ours.compiler));
  compare("standard library", text_in(theirs.standard_library), text_in(ours.standard_library));
  compare("version of the JSON library", text_in(theirs.json), text_in(ours.json));
}

}  // namespace

std::optional<std::string> refuse_plugin_file(const std::filesystem::path& file) {
  try {
    check_stamp(ElfFile(file).section(detail::plugin_section, sizeof(detail::PluginStamp)));
    return std::nullopt;
  } catch (const Refusal& refusal) {
    return refusal.text;
  }
}

}  // namespace tune::runtime
