#include "runtime/wire.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/frame.hpp"

namespace tune::runtime {
namespace {

using Catch::Contains;

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

/// As it comes out at the other end.
Json over_the_wire(const Json& json) {
  FrameReader reader;
  reader.feed(encode_frame(json));
  return reader.next().value().value();
}

TEST_CASE("frames come out whole however they are cut", "[frame]") {
  const std::vector<Json> sent = {Json(1), Json("two"), Json{{"three", Json::array()}}, Json()};
  std::string stream;
  for (const Json& json : sent) stream += encode_frame(json);
  const std::size_t step = GENERATE(1U, 2U, 3U, 7U, 1000U);
  FrameReader reader;
  std::vector<Json> received;
  for (std::size_t begin = 0; begin < stream.size(); begin += step) {
    reader.feed(std::string_view(stream).substr(begin, step));
    while (auto frame = reader.next().value()) received.push_back(*frame);
  }
  CHECK(received == sent);
}

TEST_CASE("a frame's length is looked at before its bytes are waited for", "[frame]") {
  FrameReader reader;
  reader.feed(std::string("\x01\x00\x00\x04", 4));  // 64 MiB + 1
  CHECK_THAT(reader.next().error().message,
             Contains("67108865 bytes") && Contains("67108864 are allowed"));
  CHECK_THROWS_WITH(encode_frame(std::string(max_frame_bytes, 'x')), Contains("are allowed"));
}

TEST_CASE("what is no CBOR is an error", "[frame]") {
  FrameReader reader;
  reader.feed(std::string("\x02\0\0\0\xff\xff", 6));
  CHECK_THAT(reader.next().error().message, Contains("no CBOR"));
}

TEST_CASE("a start of a trial comes through as it is", "[wire]") {
  StartTrial start;
  start.trainable = "name:Mlp";
  engine::Launch& launch = start.run.launch;
  launch.trial = TrialId{7};
  launch.incarnation = 3;
  launch.node = NodeId{2};
  launch.trial_name = "00007_x=1";
  launch.config = Config(Json{{"one", 1}, {"real", 1.0}, {"tiny", 5e-324}, {"list", {1, "a"}}});
  launch.grant.amounts.set("cpu", 1500);
  launch.grant.gpu_ids = {1};
  launch.seed = std::numeric_limits<std::uint64_t>::max();
  launch.checkpoint = engine::CheckpointLocation{"00001", "checkpoint_000004"};
  launch.checkpoint_files = std::make_shared<const core::CheckpointManifest>(
      core::CheckpointManifest{{"a/\xff", std::numeric_limits<std::uint64_t>::max(), "0f"}});
  launch.adopt_as = "checkpoint_000005";
  launch.stored_until = 4;
  launch.start_iteration = 5;
  launch.start_time_total_s = 0.1;
  launch.horizon.every_result = false;
  launch.horizon.bounds = {{"loss", 0.25, true}, {"training_iteration", 9, false, true}};
  launch.horizon.decided_until = 9;
  launch.horizon.first_needs = {"loss"};
  start.run.experiment_name = "run";
  start.run.experiment_path = "/results/run";
  start.run.checkpoint = {.every = 2, .keep = 3, .at_end = true};
  start.run.warns_of_reserved_names = true;
  start.plugins = {"/plugins/a.so", "/plugins/b.so"};

  const auto received =
      std::get<StartTrial>(command_from_json(over_the_wire(to_json(WorkerCommand(start)))));
  CHECK(to_json(WorkerCommand(received)) == to_json(WorkerCommand(start)));
  CHECK(received.plugins == start.plugins);
  const engine::Launch& got = received.run.launch;
  CHECK(got.config == launch.config);
  CHECK(got.seed == launch.seed);
  CHECK(got.checkpoint == launch.checkpoint);
  REQUIRE(got.checkpoint_files);
  CHECK(*got.checkpoint_files == *launch.checkpoint_files);
  CHECK(got.adopt_as == launch.adopt_as);
  CHECK(got.stored_until == 4);
  CHECK(got.grant.amounts.amount("cpu") == 1500);
  CHECK(got.grant.gpu_ids == launch.grant.gpu_ids);
  CHECK(got.horizon == launch.horizon);
  CHECK(received.run.checkpoint.keep == 3);
}

TEST_CASE("doubles keep their bits, and metrics their types and order", "[wire]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Result result;
  result.training_iteration = 12;
  result.timestamp = 1e9 + 0.1;
  result.done = true;
  for (const double value : {nan, std::numeric_limits<double>::infinity(), -0.0, 5e-324, 1.0 / 3}) {
    result.metrics.set("m" + std::to_string(bits(value)), value);
  }
  result.metrics.set("a", std::numeric_limits<std::int64_t>::min());
  result.metrics.set("flag", true);
  result.metrics.set("text", std::string("\xff not UTF-8"));

  WorkerNews news;
  news.messages = {{TrialId{1}, 2, 3, engine::Reported{result}}};
  news.is_ending = true;
  const auto received =
      std::get<WorkerNews>(report_from_json(over_the_wire(to_json(WorkerReport(news)))));
  CHECK(received.is_ending);
  CHECK_FALSE(received.is_reusable);
  REQUIRE(received.messages.size() == 1);
  CHECK(received.messages[0].incarnation == 2);
  CHECK(received.messages[0].sequence == 3);
  const Result& got = std::get<engine::Reported>(received.messages[0].report).result;
  CHECK(got.done);
  CHECK(bits(got.timestamp) == bits(result.timestamp));
  REQUIRE(got.metrics.size() == result.metrics.size());
  auto sent = result.metrics.begin();
  for (const auto& [name, value] : got.metrics) {
    CHECK(name == sent->first);
    CHECK(value.variant().index() == sent->second.variant().index());
    if (value.is_number()) {
      CHECK(bits(value.as_double()) == bits(sent->second.as_double()));
    } else {
      CHECK(value == sent->second);
    }
    ++sent;
  }
}

TEST_CASE("every order and every report comes through", "[wire]") {
  const std::vector<TrialOrder> orders = {
      engine::Proceed{TrialId{1}, 2, NodeId{3}, {}}, engine::Save{TrialId{1}, 2, NodeId{3}},
      engine::Pause{TrialId{1}, 2, NodeId{3}}, engine::Stop{TrialId{1}, 2, NodeId{3}, true},
      Acknowledgement{NodeId{3}, TrialId{1}, 2, 44}};
  for (const TrialOrder& order : orders) {
    const Json json = to_json(WorkerCommand(order));
    const WorkerCommand received = command_from_json(over_the_wire(json));
    CHECK(std::get<TrialOrder>(received).index() == order.index());
    CHECK(to_json(received) == json);
  }
  const std::vector<engine::TrialReport> reports = {
      engine::Started{},
      engine::Reported{},
      engine::CheckpointStored{"checkpoint_000001", 1, 0.5},
      engine::CheckpointStored{"checkpoint_000001", 1, 0.5,
                               std::make_shared<const core::CheckpointManifest>(
                                   core::CheckpointManifest{{"w", 7, "ab"}, {"x/y", 0, "cd"}})},
      engine::CheckpointFailed{3, "no room"},
      engine::Warned{"text", true},
      engine::Ended{engine::EndKind::paused, "message"},
      engine::Ended{engine::EndKind::damaged, "message"},
      engine::Saved{{"x", 3, std::make_shared<const Json>(Json{{"a", {1, 0.5, "text"}}}), 20}},
      engine::Saved{{"x", 3, std::make_shared<const Json>(Json()), 4, "artifacts/x_000003",
                     std::make_shared<const core::CheckpointManifest>(
                         core::CheckpointManifest{{"w", 7, "ab"}})}},
      engine::WentBack{2}};
  for (const engine::TrialReport& report : reports) {
    const Json json = to_json(WorkerReport(WorkerNews{{{TrialId{1}, 1, 0, report}}}));
    CHECK(to_json(report_from_json(over_the_wire(json))) == json);
  }
  CHECK(std::get<WorkerBye>(report_from_json(to_json(WorkerReport(WorkerBye{"boom"})))).fault ==
        "boom");
  CHECK(std::get<WorkerHello>(report_from_json(to_json(WorkerReport(WorkerHello{4})))).version ==
        4);
}

TEST_CASE("what is no message is refused", "[wire]") {
  CHECK_THROWS(report_from_json(Json()));
  CHECK_THROWS(report_from_json(Json::array()));
  CHECK_THROWS_WITH(report_from_json({{"kind", "gossip"}}), Contains("unknown kind \"gossip\""));
  CHECK_THROWS(command_from_json({{"kind", "start"}}));
  Json end = to_json(WorkerReport(WorkerNews{{{TrialId{1}, 1, 0, engine::Ended{}}}}));
  end["messages"][0]["end"] = 99;
  CHECK_THROWS_WITH(report_from_json(end), Contains("99"));
}

}  // namespace
}  // namespace tune::runtime
