#include "runtime/frame.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

namespace tune::runtime {

std::string encode_frame(const Json& value) {
  std::string frame(frame_header_bytes, '\0');
  Json::to_cbor(value, nlohmann::detail::output_adapter<char>(frame));
  const std::size_t size = frame.size() - frame_header_bytes;
  if (size > max_frame_bytes) {
    throw std::length_error("a message of " + std::to_string(size) + " bytes, at most " +
                            std::to_string(max_frame_bytes) + " are allowed");
  }
  for (std::size_t i = 0; i < frame_header_bytes; ++i) {
    frame[i] = static_cast<char>(static_cast<unsigned char>(size >> (8 * i)));
  }
  return frame;
}

Expected<std::optional<Json>> FrameReader::next() {
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  std::optional<Json> none;
  if (rest.size() < frame_header_bytes) return none;
  std::size_t size = 0;
  for (std::size_t i = 0; i < frame_header_bytes; ++i) {
    size |= static_cast<std::size_t>(static_cast<unsigned char>(rest[i])) << (8 * i);
  }
  if (size > max_frame_bytes) {
    return Error{ErrorCode::io, "a message claims " + std::to_string(size) + " bytes, at most " +
                                    std::to_string(max_frame_bytes) + " are allowed"};
  }
  if (rest.size() < frame_header_bytes + size) return none;
  const std::string_view content = rest.substr(frame_header_bytes, size);
  Json value = Json::from_cbor(content, true, false);
  if (value.is_discarded()) {
    return Error{ErrorCode::io, "a message of " + std::to_string(size) + " bytes is no CBOR"};
  }
  begin_ += frame_header_bytes + size;
  if (begin_ == buffer_.size() || begin_ > (1U << 20U)) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  return std::optional<Json>(std::move(value));
}

}  // namespace tune::runtime
