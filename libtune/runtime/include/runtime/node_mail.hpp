#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tune/error.hpp>
#include <tune/ids.hpp>

namespace tune::runtime {

/// A piece of what one agent tells another. It goes over the driver, which knows both.
struct NodeLetter {
  NodeId from;  ///< Filled in by the driver's end of its connection.
  NodeId to;
  std::string bytes = {};
  bool is_last = true;       ///< These bytes end a message.
  std::size_t received = 0;  ///< If not 0, `from` has received so many bytes more, and that is all.
};

/// What one agent tells others and hears of them, in pieces.
///
/// To each other node a bounded number of bytes is on its way, until that says that it has received
/// them. So results and heartbeats on the same connections wait for a few pieces at most, however
/// much there is to send, and a node that is slow or frozen fills nobody's queues.
class NodeMail {
 public:
  static constexpr std::size_t piece_bytes = 64U << 10U;
  static constexpr std::size_t window_bytes = 4 * piece_bytes;

  /// `max_message`: bytes of a message that is received.
  explicit NodeMail(std::size_t max_message) : max_message_(max_message) {}

  void send(NodeId to, std::string message);
  /// What may go now.
  [[nodiscard]] std::vector<NodeLetter> take();
  /// The message that the letter ends, or nothing yet; an error for one that is too long.
  [[nodiscard]] Expected<std::optional<std::string>> receive(const NodeLetter& letter);
  /// The node is gone.
  void forget(NodeId node) { peers_.erase(node); }

 private:
  struct Peer {
    std::deque<std::string> messages;
    std::size_t sent_of_first = 0;
    std::size_t on_the_way = 0;
    std::string arriving;
    std::size_t unanswered = 0;  // bytes received, of which it was not told
  };
  static void cut(NodeId node, Peer& peer, std::vector<NodeLetter>& letters);

  std::size_t max_message_;
  std::map<NodeId, Peer> peers_;
};

}  // namespace tune::runtime
