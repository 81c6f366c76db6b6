#include "runtime/node_mail.hpp"

#include <algorithm>
#include <utility>

namespace tune::runtime {

void NodeMail::send(NodeId to, std::string message) {
  peers_[to].messages.push_back(std::move(message));
}

std::vector<NodeLetter> NodeMail::take() {
  std::vector<NodeLetter> letters;
  for (auto& [node, peer] : peers_) {
    // The answer is worth a letter where the other side may soon wait for it.
    if (peer.unanswered >= piece_bytes) {
      NodeLetter letter{.from = {}, .to = node};
      letter.received = std::exchange(peer.unanswered, 0);
      letters.push_back(std::move(letter));
    }
    cut(node, peer, letters);
  }
  return letters;
}

void NodeMail::cut(NodeId node, Peer& peer, std::vector<NodeLetter>& letters) {
  while (!peer.messages.empty()) {
    const std::string& message = peer.messages.front();
    const std::size_t size = std::min(piece_bytes, message.size() - peer.sent_of_first);
    if (peer.on_the_way + size > window_bytes) return;
    NodeLetter letter{.from = {}, .to = node};
    letter.bytes = message.substr(peer.sent_of_first, size);
    peer.sent_of_first += size;
    peer.on_the_way += size;
    letter.is_last = peer.sent_of_first == message.size();
    if (letter.is_last) {
      peer.messages.pop_front();
      peer.sent_of_first = 0;
    }
    letters.push_back(std::move(letter));
  }
}

Expected<std::optional<std::string>> NodeMail::receive(const NodeLetter& letter) {
  Peer& peer = peers_[letter.from];
  if (letter.received > 0) {
    peer.on_the_way -= std::min(letter.received, peer.on_the_way);
    return std::optional<std::string>();
  }
  const std::size_t size = peer.arriving.size() + letter.bytes.size();
  if (size > max_message_) {
    peer.arriving.clear();
    return Error{ErrorCode::io, "a message of " + std::to_string(size) + " bytes, want at most " +
                                    std::to_string(max_message_)};
  }
  peer.unanswered += letter.bytes.size();
  peer.arriving += letter.bytes;
  if (!letter.is_last) return std::optional<std::string>();
  return std::optional<std::string>(std::exchange(peer.arriving, {}));
}

}  // namespace tune::runtime
