#pragma once

#include <cstdint>
#include <string_view>

namespace tune::report {

/// CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected; RFC 3720, appendix B.4).
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);
/// As the records of TensorBoard have it, so that a CRC of data that holds a CRC is not a weak one.
[[nodiscard]] std::uint32_t masked_crc32c(std::string_view data);

}  // namespace tune::report
