#include "runtime/node_wire.hpp"

#include <chrono>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <catch2/catch.hpp>

#include "runtime/cluster_link.hpp"

namespace tune::runtime {
namespace {

using Limits = std::numeric_limits<double>;

struct ClusterConfig : caf::actor_system_config {
  ClusterConfig() {
    load<caf::io::middleman>();
    configure_cluster(*this);
  }
};

NodeGateActor::behavior_type pass_on(NodeGateActor::pointer, const caf::actor& owner) {
  return {[=](const NodeFrame& frame) { caf::anon_send(owner, frame); }, [](const EndNode&) {}};
}

/// Two systems with a connection between them.
class TwoSystems {
 public:
  TwoSystems() {
    gate_ = there_.spawn(pass_on, caf::actor_cast<caf::actor>(receiver_));
    PortOptions options{{"127.0.0.1", 0}, std::nullopt, [](const std::string&) {}, {}};
    auto port = open_port(there_, gate_, std::move(options));
    REQUIRE(port);
    port_ = std::move(*port);
    auto socket = find_driver({"localhost", port_.door->port()});
    REQUIRE(socket);
    const auto connection = connect_to_driver(here_, std::move(*socket), std::nullopt);
    REQUIRE(connection);
    peer_ = connection->gate;
  }
  ~TwoSystems() {
    close_port(there_, gate_, port_);
    caf::anon_send_exit(gate_, caf::exit_reason::kill);
  }
  TwoSystems(const TwoSystems&) = delete;
  TwoSystems& operator=(const TwoSystems&) = delete;

  /// What arrives of a message.
  Json pass(const Json& message) {
    for (NodeFrame& frame : to_frames(message)) caf::anon_send(peer_, std::move(frame));
    FrameJoiner joiner;
    Json arrived;
    while (arrived.is_null()) {
      bool is_late = false;
      receiver_->receive(
          [&](const NodeFrame& frame) {
            auto json = joiner.add(frame);
            REQUIRE(json);
            if (*json) arrived = std::move(**json);
          },
          caf::after(std::chrono::seconds(30)) >> [&] { is_late = true; });
      REQUIRE_FALSE(is_late);
    }
    return arrived;
  }

 private:
  ClusterConfig there_config_;
  caf::actor_system there_{there_config_};
  caf::scoped_actor receiver_{there_};
  ClusterConfig here_config_;
  caf::actor_system here_{here_config_};
  NodeGateActor gate_;
  FrameActor peer_;
  OpenPort port_;
};

/// JSON with a NaN is not equal to itself.
std::string bytes_of(const Json& json) {
  std::string bytes;
  for (const NodeFrame& frame : to_frames(json)) bytes += frame.bytes;
  return bytes;
}

core::SharedManifest manifest() {
  return std::make_shared<const core::CheckpointManifest>(
      core::CheckpointManifest{{"a/state", 12, "0123"}, {"b", 0, ""}});
}

engine::SavedValue saved_value() {
  return {"model", 3,        std::make_shared<const Json>(Json{{"x", {1, 2.5, nullptr}}}),
          40,      "save_3", manifest()};
}

engine::Launch launch() {
  engine::Launch launch;
  launch.trial = TrialId{7};
  launch.incarnation = 3;
  launch.node = NodeId{2};
  launch.trial_name = "00007_x";
  launch.config = Config(Json{{"lr", 0.1}, {"nested", {{"a", {1, 2}}}}});
  launch.grant.amounts.set("cpu", 1500);
  launch.grant.gpu_ids = {0, 3};
  launch.seed = ~std::uint64_t{0};
  launch.checkpoint = engine::CheckpointLocation{"00001_y", "checkpoint_000004"};
  launch.checkpoint_files = manifest();
  launch.adopt_as = "checkpoint_000009_3";
  launch.start_iteration = 9;
  launch.start_time_total_s = 1.0 / 3;
  launch.stored_until = 9;
  launch.saves = {saved_value()};
  launch.horizon.bounds.push_back({"loss", Limits::infinity(), true});
  return launch;
}

std::vector<engine::TrialReport> all_reports() {
  Result result;
  result.metrics.set("nan", Limits::quiet_NaN());
  result.metrics.set("inf", Limits::infinity());
  result.metrics.set("minus_inf", -Limits::infinity());
  result.metrics.set("minus_zero", -0.0);
  result.metrics.set("denormal", Limits::denorm_min());
  result.metrics.set("largest", Limits::max());
  result.metrics.set("whole", std::int64_t{-1} << 62);
  result.metrics.set("flag", true);
  result.metrics.set("text", std::string("\xC3\xA9\n"));
  result.training_iteration = 4;
  result.time_total_s = 0.1;
  return {engine::Started{},
          engine::Reported{result},
          engine::CheckpointStored{"checkpoint_000004", 4, 0.1, manifest()},
          engine::CheckpointFailed{4, "no space"},
          engine::Warned{"careful", true},
          engine::Ended{engine::EndKind::failed, "boom"},
          engine::Saved{saved_value()},
          engine::WentBack{2}};
}

/// Its bytes are any, and no text.
NodeLetter letter() {
  NodeLetter letter{NodeId{3}, NodeId{5}, std::string("\0\xFF\x80", 3), /*is_last=*/false};
  letter.received = 7;
  return letter;
}

std::vector<ToDriver> all_to_driver() {
  NodeIntroduction introduction;
  introduction.build = "b";
  introduction.program = "p";
  introduction.node = "0123456789abcdef";
  introduction.name = "host";
  introduction.ip = "10.0.0.1";
  introduction.pid = 42;
  introduction.capacity.set("cpu", 4000);
  introduction.labels = {{"zone", "a"}};
  introduction.trainables = {"Mlp"};
  introduction.experiment = "run";
  NodeNews news{NodeId{2}, {}};
  for (engine::TrialReport& report : all_reports()) {
    news.messages.push_back({TrialId{7}, 3, news.messages.size(), std::move(report)});
  }
  return {introduction,      NodeReady{false, {{TrialId{7}, 3, 12}}},
          NodeRefusal{"no"}, std::move(news),
          NodeWarning{"w"},  NodeNote{"n"},
          NodePong{5},       NodeLeaves{"bye"},
          letter(),          FilesReady{"00001/checkpoint_000001", 4, manifest()}};
}

std::vector<ToNode> all_to_node() {
  NodeOffer offer;
  offer.experiment_name = "run";
  offer.experiment_path = "/results/run";
  offer.experiment_id = "ff";
  offer.trainable = "name:Mlp";
  offer.plugins = {"/p.so"};
  offer.times = {std::chrono::duration<double>(0.1), std::chrono::duration<double>(5),
                 std::chrono::duration<double>(0)};
  offer.reuse_workers = false;
  offer.checkpoint.every = 3;
  offer.checkpoint.at_end = true;
  offer.resume_from = "/from";
  offer.node_timeout = std::chrono::duration<double>(15);
  offer.driver_grace = std::chrono::duration<double>(300);
  offer.token_path = "/results/run/.token-1";
  offer.token_content = "2";
  NodeTurn turn;
  turn.commands = {launch(),
                   engine::Proceed{TrialId{1}, 1, NodeId{2}, launch().horizon},
                   engine::Save{TrialId{1}, 1, NodeId{2}},
                   engine::Pause{TrialId{1}, 1, NodeId{2}},
                   engine::Stop{TrialId{1}, 1, NodeId{2}, true},
                   engine::DeleteCheckpoint{{"00001", "checkpoint_000001"}}};
  turn.acknowledgements = {{NodeId{2}, TrialId{1}, 1, 12}};
  return {offer,
          NodeRefusal{"no"},
          NodeWelcome{NodeId{2}, {{TrialId{7}, 3, NodeId{2}, 12}}},
          std::move(turn),
          NodePing{5},
          NodeFenced{"f"},
          NodeOver{},
          letter(),
          NodeGone{NodeId{6}},
          FilesTaken{"00001/checkpoint_000001", "no room"}};
}

TEST_CASE("each message between machines arrives as it was sent", "[node_wire]") {
  TwoSystems systems;
  std::set<std::size_t> kinds;
  for (const ToDriver& message : all_to_driver()) {
    CAPTURE(message.index());
    const ToDriver arrived = to_driver_from_json(systems.pass(to_json(message)));
    CHECK(arrived.index() == message.index());
    CHECK(bytes_of(to_json(arrived)) == bytes_of(to_json(message)));
    kinds.insert(message.index());
    if (const auto* news = std::get_if<NodeNews>(&message)) {
      std::set<std::size_t> reports;
      for (const auto& told : news->messages) reports.insert(told.report.index());
      CHECK(reports.size() == std::variant_size_v<engine::TrialReport>);
    }
  }
  CHECK(kinds.size() == std::variant_size_v<ToDriver>);
  kinds.clear();
  for (const ToNode& message : all_to_node()) {
    CAPTURE(message.index());
    const ToNode arrived = to_node_from_json(systems.pass(to_json(message)));
    CHECK(arrived.index() == message.index());
    CHECK(bytes_of(to_json(arrived)) == bytes_of(to_json(message)));
    kinds.insert(message.index());
    if (const auto* turn = std::get_if<NodeTurn>(&message)) {
      std::set<std::size_t> commands;
      for (const NodeCommand& command : turn->commands) commands.insert(command.index());
      CHECK(commands.size() == std::variant_size_v<NodeCommand>);
    }
  }
  CHECK(kinds.size() == std::variant_size_v<ToNode>);
}

TEST_CASE("a large message travels in small parts", "[node_wire]") {
  TwoSystems systems;
  const Json message = to_json(ToDriver(NodeNote{std::string(3 * max_frame_part, 'x')}));
  const std::vector<NodeFrame> frames = to_frames(message);
  REQUIRE(frames.size() == 4);
  for (const NodeFrame& frame : frames) CHECK(frame.bytes.size() <= max_frame_part);
  CHECK(systems.pass(message) == message);
}

TEST_CASE("numbers cross with all their bits", "[node_wire]") {
  TwoSystems systems;
  const ToDriver arrived = to_driver_from_json(systems.pass(to_json(all_to_driver().at(3))));
  const auto& news = std::get<NodeNews>(arrived);
  const Metrics& metrics = std::get<engine::Reported>(news.messages.at(1).report).result.metrics;
  CHECK(std::isnan(metrics.at("nan").as_double()));
  CHECK(metrics.at("minus_inf").as_double() == -Limits::infinity());
  CHECK(std::signbit(metrics.at("minus_zero").as_double()));
  CHECK(metrics.at("denormal").as_double() == Limits::denorm_min());
  CHECK(metrics.at("largest").as_double() == Limits::max());
}

TEST_CASE("what is no message is told from one", "[node_wire]") {
  FrameJoiner joiner;
  CHECK_FALSE(joiner.add({"\xFF\xFE garbage", true}).has_value());
  CHECK_FALSE(joiner.add({std::string("\x01", 1), true}).has_value());  // a number
  CHECK_THROWS(to_driver_from_json(Json{{"kind", "offer"}}));
  CHECK_THROWS(to_driver_from_json(Json::object()));
  CHECK_THROWS(to_node_from_json(Json{{"kind", "turn"}, {"commands", 3}}));
  CHECK_THROWS(to_frames(Json{{"text", std::string(max_node_message, 'x')}}));
  FrameJoiner endless;
  const NodeFrame part{std::string(max_node_message / 4, 'x'), false};
  for (int i = 0; i < 4; ++i) REQUIRE(endless.add(part).has_value());
  CHECK_FALSE(endless.add(part).has_value());
}

TEST_CASE("a node that does not fit is refused with the reason", "[node_wire]") {
  NodeIntroduction node;
  node.build = this_build();
  node.program = "aa";
  node.trainables = {"Cnn", "Mlp"};
  NodeOffer offer;
  offer.experiment_name = "run";
  offer.trainable = "name:Mlp";
  CHECK(refusal_of(node, offer, "aa").empty());
  SECTION("another protocol, of which nothing else is read") {
    const ToDriver other = to_driver_from_json(Json{{"kind", "introduction"}, {"protocol", 99}});
    CHECK_THAT(refusal_of(std::get<NodeIntroduction>(other), offer, "aa"),
               Catch::Contains("it speaks protocol 99"));
  }
  SECTION("another build of tune") {
    node.build = "tune 9";
    CHECK(refusal_of(node, offer, "aa") ==
          "it was built with tune 9, the driver with " + this_build());
  }
  SECTION("another experiment") {
    node.experiment = "walk";
    CHECK(refusal_of(node, offer, "aa") == "it is for experiment walk, this is run");
  }
  SECTION("a trainable that it does not have") {
    offer.trainable = "name:Rnn";
    CHECK(refusal_of(node, offer, "aa") ==
          "trainable Rnn is not registered there, registered are: Cnn, Mlp");
    offer.plugins = {"/rnn.so"};
    CHECK(refusal_of(node, offer, "aa").empty());  // it will see
  }
  SECTION("another program, where the trainable is a place in the program") {
    offer.trainable = "function:1234";
    CHECK(refusal_of(node, offer, "aa").empty());
    CHECK_THAT(refusal_of(node, offer, "bb"), Catch::Contains("TUNE_REGISTER_FUNCTION"));
  }
}

TEST_CASE("addresses are read as people write them", "[cluster_link]") {
  CHECK(parse_host_port("driver:7700").text() == "driver:7700");
  CHECK(parse_host_port("[::1]:7700").host == "::1");
  CHECK(parse_host_port("[::1]:7700").text() == "[::1]:7700");
  CHECK(parse_host_port("0.0.0.0:0").port == 0);
  for (const char* text : {"", "driver", ":7700", "driver:", "driver:x", "driver:70000",
                           "driver:-1", "::1:7700", "[]:7700", "driver:77 "}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(parse_host_port(text), Catch::Contains("want HOST:PORT"));
  }
  CHECK(is_loopback("127.0.0.1"));
  CHECK(is_loopback("127.3.2.1"));
  CHECK(is_loopback("::1"));
  CHECK(is_loopback("localhost"));
  CHECK_FALSE(is_loopback("0.0.0.0"));
  CHECK_FALSE(is_loopback("::"));
  CHECK_FALSE(is_loopback("192.168.1.1"));
}

}  // namespace
}  // namespace tune::runtime
