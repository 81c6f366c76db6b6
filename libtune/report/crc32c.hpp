#pragma once

#include <cstdint>
#include <string_view>

namespace tune::report {

/// CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected; RFC 3720, appendix B.4).
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

}  // namespace tune::report
