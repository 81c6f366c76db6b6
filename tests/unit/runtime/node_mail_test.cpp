#include "runtime/node_mail.hpp"

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/random.hpp>

#include "support/seed.hpp"

namespace tune::runtime {
namespace {

constexpr std::size_t longest = 3 * NodeMail::window_bytes;

std::size_t bytes_of_letters(const std::vector<NodeLetter>& letters) {
  std::size_t bytes = 0;
  for (const NodeLetter& letter : letters) bytes += letter.bytes.size();
  return bytes;
}

TEST_CASE("a short message goes in one letter, without an answer", "[node_mail]") {
  NodeMail here(longest);
  NodeMail there(longest);
  here.send(NodeId{1}, "hello");
  std::vector<NodeLetter> letters = here.take();
  REQUIRE(letters.size() == 1);
  CHECK(letters[0].to == NodeId{1});
  letters[0].from = NodeId{0};
  CHECK(there.receive(letters[0]).value() == "hello");
  CHECK(there.take().empty());
  CHECK(here.take().empty());
}

TEST_CASE("no more than a window is on the way to a node that says nothing", "[node_mail]") {
  NodeMail mail(longest);
  for (int i = 0; i < 100; ++i) mail.send(NodeId{1}, std::string(NodeMail::piece_bytes, 'x'));
  mail.send(NodeId{2}, "not held up");
  const std::vector<NodeLetter> letters = mail.take();
  CHECK(bytes_of_letters(letters) == NodeMail::window_bytes + 11);
  CHECK(letters.back().to == NodeId{2});
  CHECK(mail.take().empty());
  mail.forget(NodeId{1});
  CHECK(mail.take().empty());
}

TEST_CASE("a message that is too long is an error before it is kept", "[node_mail]") {
  NodeMail mail(100);
  NodeLetter letter{NodeId{0}, NodeId{1}, std::string(60, 'x'), /*is_last=*/false};
  CHECK(mail.receive(letter).has_value());
  const auto refused = mail.receive(letter);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message == "a message of 120 bytes, want at most 100");
}

/// Some nodes, and what is between them: each pair of nodes keeps its order, and nothing else.
class MailNetwork {
 public:
  explicit MailNetwork(std::uint64_t seed) : random_(seed, "node mail") {
    for (std::size_t i = 0; i < count; ++i) nodes_.emplace_back(longest);
  }

  void run() {
    for (int step = 0; step < 200; ++step) {
      if (random_.below(4) == 0) {
        send();
      } else {
        deliver_one();
      }
    }
    while (deliver_one()) {
    }
    for (const auto& [pair, messages] : expected_) REQUIRE(messages.empty());
  }

 private:
  static constexpr std::size_t count = 3;
  using Pair = std::pair<std::size_t, std::size_t>;

  void send() {
    const std::size_t from = random_.below(count);
    const std::size_t to = (from + 1 + random_.below(count - 1)) % count;
    constexpr std::size_t sizes[] = {
        0, 1, 100, NodeMail::piece_bytes, NodeMail::window_bytes + 1, longest};
    std::string message(sizes[random_.below(std::size(sizes))], 'a');
    for (std::size_t i = 0; i < message.size(); i += 1000) {
      message[i] = static_cast<char>(random_.below(256));
    }
    expected_[{from, to}].push_back(message);
    nodes_[from].send(NodeId{to}, std::move(message));
    take(from);
  }

  void take(std::size_t from) {
    for (NodeLetter& letter : nodes_[from].take()) {
      letter.from = NodeId{from};
      REQUIRE(letter.bytes.size() <= NodeMail::piece_bytes);
      const Pair pair{from, static_cast<std::size_t>(letter.to.value())};
      std::size_t waiting = letter.bytes.size();
      for (const NodeLetter& other : ways_[pair]) waiting += other.bytes.size();
      REQUIRE(waiting <= NodeMail::window_bytes);
      ways_[pair].push_back(std::move(letter));
    }
  }

  bool deliver_one() {
    std::vector<Pair> ready;
    for (const auto& [pair, letters] : ways_) {
      if (!letters.empty()) ready.push_back(pair);
    }
    if (ready.empty()) return false;
    const Pair pair = ready[random_.below(ready.size())];
    const NodeLetter letter = std::move(ways_[pair].front());
    ways_[pair].pop_front();
    const auto message = nodes_[pair.second].receive(letter);
    REQUIRE(message.has_value());
    if (*message) {
      REQUIRE(**message == expected_[pair].front());
      expected_[pair].pop_front();
    }
    take(pair.second);
    return true;
  }

  Random random_;
  std::vector<NodeMail> nodes_;
  std::map<Pair, std::deque<NodeLetter>> ways_;
  std::map<Pair, std::deque<std::string>> expected_;
};

TEST_CASE("all messages arrive in order, whatever comes first", "[node_mail]") {
  const std::uint64_t first = test::test_seed(1);
  const std::uint64_t count = std::getenv("TUNE_TEST_SEED") != nullptr ? 1 : 60;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    INFO("TUNE_TEST_SEED=" << seed);
    MailNetwork(seed).run();
  }
}

}  // namespace
}  // namespace tune::runtime
