#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fake_cuda {
namespace {

const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
constexpr std::size_t alignment = 256;  // as cudaMalloc() has it
constexpr std::byte garbage{0xff};      // as a float, not a number

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

}  // namespace

void Memory::protect(const Piece& piece, bool is_open) {
  if (mprotect(piece.pages, piece.page_bytes, is_open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) {
    std::perror("fake_cuda: mprotect");
    std::abort();
  }
}

std::size_t Memory::bytes_of_device() {
  const char* const mib = std::getenv("FAKE_CUDA_MIB");
  return (mib == nullptr ? std::size_t{8192} : std::strtoul(mib, nullptr, 10)) << 20;
}

void* Memory::allocate(std::size_t bytes, int device) {
  if (bytes > bytes_of_device() || used(device) > bytes_of_device() - bytes) return nullptr;
  const std::size_t page_bytes = round_up(bytes, page);
  void* const pages =
      mmap(nullptr, page_bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  const Piece piece{static_cast<std::byte*>(pages), page_bytes, bytes, device};
  protect(piece, true);
  std::fill_n(piece.pages, page_bytes, garbage);
  protect(piece, false);
  std::byte* const memory = piece.pages + page_bytes - round_up(bytes, alignment);
  pieces_[memory] = piece;
  return memory;
}

bool Memory::release(void* memory) {
  const auto found = pieces_.find(static_cast<const std::byte*>(memory));
  if (found == pieces_.end()) return false;
  const auto& [begin, piece] = *found;
  protect(piece, true);
  const auto is_untouched = [](std::byte byte) { return byte == garbage; };
  const std::byte* const pages = piece.pages;
  if (!std::all_of(pages, begin, is_untouched) ||
      !std::all_of(begin + piece.bytes, pages + piece.page_bytes, is_untouched)) {
    std::fprintf(stderr, "fake_cuda: something was written around a piece of %zu bytes\n",
                 piece.bytes);
    std::abort();
  }
  munmap(piece.pages, piece.page_bytes + page);
  pieces_.erase(found);
  return true;
}

bool Memory::has(const void* memory, std::size_t bytes) const {
  const auto* const begin = static_cast<const std::byte*>(memory);
  auto after = pieces_.upper_bound(begin);
  if (after == pieces_.begin()) return false;
  const auto& [first, piece] = *--after;
  return begin + bytes <= first + piece.bytes;
}

std::size_t Memory::used(int device) const {
  std::size_t bytes = 0;
  for (const auto& [begin, piece] : pieces_) {
    if (piece.device == device) bytes += piece.page_bytes;
  }
  return bytes;
}

Memory::Access::Access(const Memory& memory, int device) : memory_(memory), device_(device) {
  for (const auto& [begin, piece] : memory_.pieces_) {
    if (piece.device == device_) protect(piece, true);
  }
}

Memory::Access::~Access() {
  for (const auto& [begin, piece] : memory_.pieces_) {
    if (piece.device == device_) protect(piece, false);
  }
}

}  // namespace fake_cuda
