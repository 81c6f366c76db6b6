#include "crc32c.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace tune::report {
namespace {

static_assert(std::endian::native == std::endian::little, "the tables are read low byte first");

constexpr std::size_t slices = 8;
using CrcTables = std::array<std::array<std::uint32_t, 256>, slices>;

// tables[k][b] is the register after byte b and k zero bytes: eight bytes are folded in at once.
constexpr CrcTables make_crc_tables() {
  CrcTables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1U) ^ ((value & 1U) * 0x82F63B78U);
    tables[0][byte] = value;
  }
  for (std::size_t slice = 1; slice < slices; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[slice - 1][byte];
      tables[slice][byte] = (before >> 8U) ^ tables[0][before & 0xFFU];
    }
  }
  return tables;
}

constexpr CrcTables crc_tables = make_crc_tables();

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFU;
  while (bytes.size() >= slices) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), slices);
    word ^= crc;
    crc = 0;
    for (std::size_t i = 0; i < slices; ++i) {
      crc ^= crc_tables[slices - 1 - i][(word >> (8 * i)) & 0xFFU];
    }
    bytes.remove_prefix(slices);
  }
  for (const char byte : bytes) {
    crc = (crc >> 8U) ^ crc_tables[0][(crc ^ static_cast<unsigned char>(byte)) & 0xFFU];
  }
  return ~crc;
}

std::uint32_t masked_crc32c(std::string_view data) {
  return std::rotr(crc32c(data), 15) + 0xA282EAD8U;
}

}  // namespace tune::report
