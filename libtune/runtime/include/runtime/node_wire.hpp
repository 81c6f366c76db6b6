#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tune/error.hpp>
#include <tune/json.hpp>

#include "runtime/node_messages.hpp"

/// What driver and node tell each other, as the JSON that NodeFrames hold. Doubles keep their bits.
namespace tune::runtime {

[[nodiscard]] Json to_json(const ToNode& message);
[[nodiscard]] Json to_json(const ToDriver& message);
/// @throws std::exception for what is no such message.
[[nodiscard]] ToNode to_node_from_json(const Json& json);
[[nodiscard]] ToDriver to_driver_from_json(const Json& json);

inline constexpr std::size_t max_frame_part = 256U << 10U;
/// Of all parts of a message together.
inline constexpr std::size_t max_node_message = 64U << 20U;
/// Items of one message; more make several messages.
inline constexpr std::size_t max_node_items = 32;

/// @throws std::length_error for a message above max_node_message.
[[nodiscard]] std::vector<NodeFrame> to_frames(const Json& message);

/// Puts the parts of messages together.
class FrameJoiner {
 public:
  /// The message that `frame` ends, or nothing yet; an error if it is none, or too large.
  [[nodiscard]] Expected<std::optional<Json>> add(const NodeFrame& frame);

 private:
  std::string bytes_;
};

/// The version of tune and of the compiler: what two programs must share to understand each other.
[[nodiscard]] std::string this_build();
/// The build id that the linker gave this program; empty if it has none.
[[nodiscard]] std::string this_program();

/// Why the driver of an experiment with this offer does not take a node; empty if it does.
/// `program`: the driver's this_program().
[[nodiscard]] std::string refusal_of(const NodeIntroduction& node, const NodeOffer& offer,
                                     const std::string& program);

}  // namespace tune::runtime
