#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tune/error.hpp>
#include <tune/json.hpp>

namespace tune::runtime {

/// A frame: four bytes of length, little-endian, then as many bytes of CBOR.
inline constexpr std::size_t frame_header_bytes = 4;
inline constexpr std::size_t max_frame_bytes = 64U << 20U;

/// @throws std::length_error if the value needs more than `max_frame_bytes`.
[[nodiscard]] std::string encode_frame(const Json& value);

/// Cuts a stream of bytes into frames. After an error nothing more can be read.
class FrameReader {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// The next frame's content; empty if there is no whole one yet. An error for a
  /// length that is too big, found out before its bytes are waited for, and for what is no CBOR.
  [[nodiscard]] Expected<std::optional<Json>> next();

 private:
  std::string buffer_;
  std::size_t begin_ = 0;  // of what was not read yet
};

}  // namespace tune::runtime
