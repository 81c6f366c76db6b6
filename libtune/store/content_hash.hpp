#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tune::store {

/// XXH3-128 of what is added to it, as 32 hexadecimal digits.
class ContentHash {
 public:
  explicit ContentHash(std::uint64_t seed = 0) {
    XXH3_INITSTATE(&state_);
    XXH3_128bits_reset_withSeed(&state_, seed);
  }

  void add(std::span<const char> bytes) {
    XXH3_128bits_update(&state_, bytes.data(), bytes.size());
  }

  [[nodiscard]] std::string text() const {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_));
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : canonical.digest) {
      text += digits[byte >> 4U];
      text += digits[byte & 15U];
    }
    return text;
  }

 private:
  XXH3_state_t state_;
};

}  // namespace tune::store
