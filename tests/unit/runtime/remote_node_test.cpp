#include "runtime/remote_node.hpp"

#include <chrono>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <catch2/catch.hpp>

namespace tune::runtime {
namespace {

using Catch::Contains;

/// What a node on another machine heard of the driver, and the driver of the node.
struct HeardOfNode {
  std::vector<ToNode> node;
  std::vector<NodeHello> hellos;
  std::vector<NodeLost> lost;
  std::vector<engine::TrialMessage> news;
  std::vector<std::string> notes;
  std::vector<NodeLetter> letters;

  template <class Message>
  [[nodiscard]] std::size_t count() const {
    std::size_t count = 0;
    for (const ToNode& message : node) count += std::holds_alternative<Message>(message);
    return count;
  }
};

FrameActor::behavior_type fake_link(FrameActor::pointer, HeardOfNode* heard) {
  const auto joiner = std::make_shared<FrameJoiner>();
  return {[=](const NodeFrame& frame) {
    const auto message = joiner->add(frame);
    if (message->has_value()) heard->node.push_back(to_node_from_json(**message));
  }};
}

DriverActor::behavior_type fake_driver(DriverActor::pointer, HeardOfNode* heard) {
  return {[=](const NodeHello& hello) { heard->hellos.push_back(hello); },
          [=](const NodeNews& news) {
            heard->news.insert(heard->news.end(), news.messages.begin(), news.messages.end());
          },
          [](const NodeWarning&) {},
          [=](const NodeNote& note) { heard->notes.push_back(note.text); },
          [=](const NodeLetter& letter) { heard->letters.push_back(letter); },
          [=](const NodeLost& lost) { heard->lost.push_back(lost); },
          [](const SearcherTurnDone&) {},
          [](const TurnCommitted&) {},
          [](const RecordTurnDone&) {},
          [](const engine::TimerFired&) {},
          [](const StatusDue&) {},
          [](const RecordsDue&) {},
          [](const engine::StopRequested&) {}};
}

/// A storage with hiccups: what the driver's fetcher is asked for, and what it answers, in order.
struct Storage {
  std::vector<std::string> asked;
  std::vector<std::string> given_up;
  std::vector<std::optional<Error>> answers = {};  // beyond them all goes well
  std::string hanging = {};                        // no answer for this directory
};

FetcherActor::behavior_type fake_fetcher(FetcherActor::pointer self, Storage* storage) {
  return {[=](const FetchDirectory& order) {
            auto promise = self->make_response_promise<DirectoryFetched>();
            storage->asked.push_back(order.directory);
            if (order.directory == storage->hanging) return promise;
            DirectoryFetched fetched{.directory = order.directory};
            fetched.manifest = std::make_shared<const core::CheckpointManifest>();
            if (!storage->answers.empty()) {
              fetched.error = storage->answers.front();
              storage->answers.erase(storage->answers.begin());
            }
            promise.deliver(std::move(fetched));
            return promise;
          },
          [=](const CancelFetch& order) { storage->given_up.push_back(order.directory); },
          [](const RemoveFetched&) {}};
}

UnpackerActor::behavior_type fake_unpacker(UnpackerActor::pointer, std::vector<std::string>* done) {
  return {[=](const UnpackTrial& order) {
    done->push_back(order.directory);
    return TrialUnpacked{};
  }};
}

FileServerActor::behavior_type no_files(FileServerActor::pointer) {
  return {[](const ListDirectory&) { return DirectoryPage{}; },
          [](const ReadPiece&) { return PieceRead{}; },
          [](const HashPiece&) { return PieceHash{}; }};
}

struct VirtualTimeConfig : caf::actor_system_config {
  VirtualTimeConfig() { set("scheduler.policy", caf::atom("testing")); }
};

/// The driver's end of a node, with a virtual clock, and nobody real at either side.
class RemoteNodeFixture {
 public:
  RemoteNodeFixture() {
    RemoteNodeSetup setup;
    driver_ = system_.spawn(fake_driver, &heard);
    peer_ = system_.spawn(fake_link, &heard);
    setup.driver = driver_;
    setup.peer = peer_;
    setup.node.name = "far";
    setup.offer.node_timeout = std::chrono::seconds(15);
    setup.files = {
        {}, system_.spawn(fake_fetcher, &storage), system_.spawn(fake_unpacker, &unpacked)};
    node_ = system_.spawn(stand_for_node, std::move(setup));
    scheduler().run();
  }
  ~RemoteNodeFixture() {
    heard.hellos.clear();  // they hold the actor
    caf::anon_send_exit(driver_, caf::exit_reason::kill);
    caf::anon_send_exit(peer_, caf::exit_reason::kill);
    caf::anon_send_exit(node_, caf::exit_reason::kill);
    scheduler().run();
    system_.await_actors_before_shutdown(false);
  }

 protected:
  void say(const ToDriver& message) {
    for (NodeFrame& frame : to_frames(to_json(message))) say_frame(std::move(frame));
  }
  void say_frame(NodeFrame frame) {
    caf::send_as(caf::actor_cast<caf::actor>(peer_), node_, std::move(frame));
    scheduler().run();
  }
  void say_news(std::uint64_t sequence) {
    say(NodeNews{NodeId{0}, {{TrialId{0}, 1, sequence, engine::Started{}}}});
  }
  template <class Message>
  void tell(Message message) {
    caf::anon_send(node_, std::move(message));
    scheduler().run();
  }
  void join(std::uint64_t id = 4) {
    say(NodeReady{});
    tell(NodeWelcome{NodeId{id}});
  }
  /// A node that has files of its own has joined.
  void join_with_files() {
    caf::anon_send(node_, FilesAt{system_.spawn(no_files)});
    say(NodeReady{false});
    tell(NodeWelcome{NodeId{4}});
  }
  /// What the node was told of its directories, "" for one that is in its place.
  [[nodiscard]] std::vector<std::string> faults() const {
    std::vector<std::string> faults;
    for (const ToNode& message : heard.node) {
      if (const auto* taken = std::get_if<FilesTaken>(&message)) faults.push_back(taken->fault);
    }
    return faults;
  }
  void pass_seconds(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      scheduler().advance_time(std::chrono::seconds(1));
      scheduler().run();
    }
  }
  void cut() {
    caf::anon_send_exit(peer_, caf::exit_reason::kill);
    scheduler().run();
  }
  [[nodiscard]] bool has_quit() {
    return caf::actor_cast<caf::abstract_actor*>(node_)->getf(
        caf::abstract_actor::is_terminated_flag);
  }
  caf::scheduler::test_coordinator& scheduler() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  }

  HeardOfNode heard;
  Storage storage;
  std::vector<std::string> unpacked;

 private:
  VirtualTimeConfig config_;
  caf::actor_system system_{config_};
  DriverActor driver_;
  FrameActor peer_;
  RemoteNodeActor node_;
};

TEST_CASE_METHOD(RemoteNodeFixture, "a node joins once it has taken the offer", "[remote_node]") {
  CHECK(heard.count<NodeOffer>() == 1);
  CHECK(heard.hellos.empty());
  say_news(0);  // from nowhere
  join();
  REQUIRE(heard.hellos.size() == 1);
  CHECK(heard.hellos[0].name == "far");
  CHECK_FALSE(heard.hellos[0].is_local);
  CHECK(heard.count<NodeWelcome>() == 1);
  CHECK(heard.news.empty());
  say_news(0);
  CHECK(heard.news.size() == 1);
  say(NodeReady{});  // twice
  CHECK(heard.hellos.size() == 1);
}

NodeTurn turn_of(std::initializer_list<std::size_t> sizes) {
  NodeTurn turn;
  for (const std::size_t size : sizes) {
    engine::DeleteCheckpoint command;
    command.checkpoint.directory_name = std::string(size, 'x');
    turn.commands.emplace_back(std::move(command));
  }
  turn.acknowledgements = {{NodeId{4}, TrialId{0}, 1, 7}, {NodeId{4}, TrialId{1}, 1, 8}};
  return turn;
}

TEST_CASE_METHOD(RemoteNodeFixture, "what is too long for one message goes in several",
                 "[remote_node]") {
  join();
  tell(turn_of({max_node_message / 2, 3, max_node_message / 2, max_node_message / 2}));
  std::vector<std::size_t> sizes;
  std::vector<std::uint64_t> counts;
  for (const ToNode& message : heard.node) {
    const auto* turn = std::get_if<NodeTurn>(&message);
    if (turn == nullptr) continue;
    for (const NodeCommand& command : turn->commands) {
      sizes.push_back(std::get<engine::DeleteCheckpoint>(command).checkpoint.directory_name.size());
    }
    for (const Acknowledgement& one : turn->acknowledgements) counts.push_back(one.count);
  }
  CHECK(sizes == std::vector<std::size_t>{max_node_message / 2, 3, max_node_message / 2,
                                          max_node_message / 2});
  CHECK(counts == std::vector<std::uint64_t>{7, 8});
  CHECK(heard.lost.empty());
}

TEST_CASE_METHOD(RemoteNodeFixture, "a node that cannot be told something is lost, no more",
                 "[remote_node]") {
  join();
  tell(turn_of({max_node_message}));
  REQUIRE(heard.lost.size() == 1);
  CHECK_THAT(heard.lost[0].reason, Contains("it cannot be told what to do: a message to another "
                                            "machine of"));
  CHECK(heard.count<NodeFenced>() == 1);
}

TEST_CASE_METHOD(RemoteNodeFixture, "it ends also where the driver had no number for it any more",
                 "[remote_node]") {
  say(NodeReady{});
  cut();
  CHECK_FALSE(has_quit());
  tell(EndNode{});
  CHECK(has_quit());
}

TEST_CASE_METHOD(RemoteNodeFixture, "a node that is silent for too long is lost, and fenced",
                 "[remote_node]") {
  join();
  pass_seconds(14);
  CHECK(heard.lost.empty());
  CHECK(heard.count<NodePing>() >= 6);
  say(NodePong{1});
  pass_seconds(14);
  CHECK(heard.lost.empty());
  pass_seconds(4);
  REQUIRE(heard.lost.size() == 1);
  CHECK(heard.lost[0].node == NodeId{4});
  CHECK_THAT(heard.lost[0].reason, Contains("nothing was heard of it for 15 s"));
  CHECK(heard.count<NodeFenced>() == 1);
  // It thaws: what it says is late.
  say_news(1);
  say_news(2);
  CHECK(heard.news.empty());
  CHECK_FALSE(has_quit());
  cut();
  CHECK(has_quit());
  REQUIRE(heard.notes.size() == 1);
  CHECK_THAT(heard.notes[0], Contains("2 late messages of its trials were refused"));
  CHECK(heard.lost.size() == 1);
}

TEST_CASE_METHOD(RemoteNodeFixture, "letters go both ways until the node is lost",
                 "[remote_node]") {
  join();
  tell(NodeLetter{NodeId{1}, NodeId{4}, std::string("\0\xFF", 2), /*is_last=*/false});
  tell(NodeGone{NodeId{1}});
  REQUIRE(heard.count<NodeLetter>() == 1);
  CHECK(heard.count<NodeGone>() == 1);
  // Whom it says it is from does not count.
  NodeLetter letter{NodeId{9}, NodeId{1}, "abc"};
  letter.received = 3;
  say(letter);
  REQUIRE(heard.letters.size() == 1);
  CHECK(heard.letters[0].from == NodeId{4});
  CHECK(heard.letters[0].to == NodeId{1});
  CHECK(heard.letters[0].bytes == "abc");
  CHECK(heard.letters[0].received == 3);
  pass_seconds(20);
  REQUIRE(heard.lost.size() == 1);
  say(letter);
  tell(NodeLetter{NodeId{1}, NodeId{4}, "late"});
  CHECK(heard.letters.size() == 1);
  CHECK(heard.count<NodeLetter>() == 1);
  cut();
  CHECK_THAT(heard.notes.at(0), Contains("1 late messages of its trials were refused"));
}

TEST_CASE_METHOD(RemoteNodeFixture, "a driver that was frozen itself does not blame its nodes",
                 "[remote_node]") {
  join();
  scheduler().advance_time(std::chrono::minutes(10));
  scheduler().run();
  CHECK(heard.lost.empty());
  pass_seconds(18);
  CHECK(heard.lost.size() == 1);
}

TEST_CASE_METHOD(RemoteNodeFixture, "a connection that breaks is a loss", "[remote_node]") {
  SECTION("of a node that has joined") {
    join();
    cut();
    REQUIRE(heard.lost.size() == 1);
    CHECK(heard.lost[0].reason == "its connection broke");
    CHECK(has_quit());
  }
  SECTION("before it has taken the offer nobody hears of it") {
    cut();
    CHECK(heard.lost.empty());
    CHECK(heard.hellos.empty());
    CHECK(has_quit());
  }
  SECTION("before the driver has answered it is told of later") {
    say(NodeReady{});
    cut();
    CHECK(heard.lost.empty());
    tell(NodeWelcome{NodeId{9}});
    REQUIRE(heard.lost.size() == 1);
    CHECK(heard.lost[0].node == NodeId{9});
    CHECK(has_quit());
  }
}

TEST_CASE_METHOD(RemoteNodeFixture, "a node that comes again takes the place of what it was",
                 "[remote_node]") {
  join();
  tell(NodeCameAgain{});
  REQUIRE(heard.lost.size() == 1);
  CHECK(heard.lost[0].reason == "it came again");
  CHECK(has_quit());
}

TEST_CASE_METHOD(RemoteNodeFixture, "a node that sends what is no message is lost",
                 "[remote_node]") {
  join();
  SECTION("garbage") { say_frame({"\xFF garbage", true}); }
  SECTION("a message of unknown kind") { say_frame(to_frames(Json{{"kind", "gift"}}).front()); }
  REQUIRE(heard.lost.size() == 1);
  CHECK_THAT(heard.lost[0].reason, Contains("it sent "));
  CHECK(heard.count<NodeFenced>() == 1);
  CHECK(has_quit());
}

TEST_CASE_METHOD(RemoteNodeFixture, "at the end of the experiment a node is told, and waited for",
                 "[remote_node]") {
  join();
  tell(EndNode{});
  CHECK(heard.count<NodeOver>() == 1);
  CHECK_FALSE(has_quit());
  SECTION("until it says so") { say(NodeLeaves{}); }
  SECTION("for a bounded time") { pass_seconds(6); }
  CHECK(has_quit());
  CHECK(heard.lost.empty());
}

TEST_CASE_METHOD(RemoteNodeFixture, "a large turn goes in several messages", "[remote_node]") {
  join();
  NodeTurn turn;
  for (std::uint64_t i = 0; i < 2 * max_node_items + 1; ++i) {
    turn.acknowledgements.push_back({NodeId{4}, TrialId{i}, 1, i});
  }
  turn.commands.emplace_back(engine::Save{TrialId{0}, 1, NodeId{4}});
  tell(std::move(turn));
  CHECK(heard.count<NodeTurn>() == 3);
  std::uint64_t next = 0;
  for (const ToNode& message : heard.node) {
    const auto* part = std::get_if<NodeTurn>(&message);
    if (part == nullptr) continue;
    for (const Acknowledgement& credit : part->acknowledgements) CHECK(credit.count == next++);
  }
  CHECK(next == 2 * max_node_items + 1);
}

using Texts = std::vector<std::string>;

TEST_CASE_METHOD(RemoteNodeFixture,
                 "FA-13: a transfer that the storage refuses is tried again after a while",
                 "[FA-13][remote_node]") {
  join_with_files();
  REQUIRE(heard.hellos.size() == 1);
  CHECK_FALSE(heard.hellos[0].shares_files);
  const Error hiccup{ErrorCode::io, "cannot write /x: Input/output error"};
  SECTION("and goes well in the end") {
    storage.answers = {hiccup, hiccup};
    say(FilesReady{"00001/checkpoint_000003", 1, nullptr});
    CHECK(storage.asked.size() == 1);
    pass_seconds(1);
    CHECK(storage.asked.size() == 2);
    pass_seconds(1);
    CHECK(storage.asked.size() == 2);  // the second pause is longer
    pass_seconds(1);
    CHECK(storage.asked.size() == 3);
    CHECK(faults() == Texts{""});
  }
  SECTION("but not for ever") {
    storage.answers = {hiccup, hiccup, hiccup, hiccup, hiccup};
    say(FilesReady{"00001/checkpoint_000003", 1, nullptr});
    pass_seconds(10);
    CHECK(storage.asked.size() == 4);
    CHECK(storage.given_up == Texts{"00001/checkpoint_000003"});
    CHECK(faults() == Texts{"node far, process 0: cannot write /x: Input/output error"});
  }
  SECTION("but not if the files are not as they should be") {
    storage.answers = {Error{ErrorCode::damaged, "state is missing"}};
    say(FilesReady{"00001/checkpoint_000003", 1, nullptr});
    CHECK(faults() == Texts{"node far, process 0: state is missing"});
  }
  CHECK(heard.lost.empty());
}

TEST_CASE_METHOD(RemoteNodeFixture,
                 "FA-13: a transfer that hangs holds up no other trial's results",
                 "[FA-13][remote_node]") {
  join_with_files();
  storage.hanging = "00001/checkpoint_000003";
  say(FilesReady{storage.hanging, 1, nullptr});
  for (std::uint64_t sequence = 0; sequence < 60; ++sequence) {
    say_news(sequence);
    CHECK(heard.news.size() == sequence + 1);
    pass_seconds(1);
  }
  say(FilesReady{"00002/checkpoint_000001", 1, nullptr});
  CHECK(faults() == Texts{""});
  CHECK(heard.lost.empty());
}

TEST_CASE_METHOD(RemoteNodeFixture, "a package is unpacked once it has arrived", "[remote_node]") {
  join_with_files();
  say(FilesReady{"00001/outgoing_1_1", 1, nullptr});
  say(FilesReady{"00001/artifacts/outgoing_000001", 1, nullptr});  // a value of that name
  CHECK(unpacked == Texts{"00001/outgoing_1_1"});
  CHECK(faults() == Texts{"", ""});
}

TEST_CASE_METHOD(RemoteNodeFixture, "what is on its way from a node that is lost is given up",
                 "[remote_node]") {
  join_with_files();
  storage.hanging = "00001/checkpoint_000003";
  storage.answers = {Error{ErrorCode::io, "the connection to the other side was lost"}};
  say(FilesReady{"00001/checkpoint_000003", 1, nullptr});
  say(FilesReady{"00002/checkpoint_000001", 1, nullptr});  // waits for its next try
  cut();
  CHECK(storage.given_up == Texts{"00001/checkpoint_000003", "00002/checkpoint_000001"});
  CHECK(faults().empty());
  CHECK(has_quit());
}

}  // namespace
}  // namespace tune::runtime
