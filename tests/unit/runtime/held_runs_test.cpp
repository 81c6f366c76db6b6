#include "runtime/held_runs.hpp"

#include <catch2/catch.hpp>

namespace tune::runtime {
namespace {

engine::TrialMessage message(std::uint64_t trial, std::uint64_t sequence,
                             engine::TrialReport report = engine::Reported{}) {
  return {TrialId{trial}, 1, sequence, std::move(report)};
}

engine::TrialMessage end(std::uint64_t trial, std::uint64_t sequence, engine::EndKind kind) {
  return message(trial, sequence, engine::Ended{kind, "why"});
}

std::vector<std::uint64_t> sequences(const HeldRuns& runs) {
  std::vector<std::uint64_t> all;
  for (const engine::TrialMessage& m : runs.unacknowledged()) all.push_back(m.sequence);
  return all;
}

TEST_CASE("a node holds what its trials told until that is on record", "[held_runs]") {
  HeldRuns runs;
  runs.launch(TrialId{1}, 1);
  runs.keep({message(1, 0, engine::Started{}), message(1, 1), message(1, 2)});
  CHECK(sequences(runs) == std::vector<std::uint64_t>{0, 1, 2});
  CHECK(runs.all()[0].first == 0);
  runs.acknowledge({NodeId{0}, TrialId{1}, 1, 2});
  CHECK(sequences(runs) == std::vector<std::uint64_t>{2});
  CHECK(runs.all()[0].first == 2);
  runs.acknowledge({NodeId{0}, TrialId{1}, 1, 3});
  CHECK(runs.all()[0].first == 3);
  runs.keep({message(1, 3)});
  runs.acknowledge({NodeId{0}, TrialId{1}, 1, 1});  // late
  runs.acknowledge({NodeId{0}, TrialId{1}, 2, 9});  // of another start
  runs.keep({message(7, 0)});                       // never launched here
  CHECK(sequences(runs) == std::vector<std::uint64_t>{3});
}

TEST_CASE("a start is held until its end is on record", "[held_runs]") {
  HeldRuns runs;
  runs.launch(TrialId{1}, 1);
  runs.launch(TrialId{2}, 1);
  runs.keep({end(1, 0, engine::EndKind::finished)});
  CHECK(runs.all().size() == 2);
  runs.acknowledge({NodeId{0}, TrialId{1}, 1, 1});
  REQUIRE(runs.all().size() == 1);
  CHECK(runs.all()[0].trial == TrialId{2});
}

TEST_CASE("what another driver does not take is dropped, and what of it runs has to end",
          "[held_runs]") {
  HeldRuns runs;
  for (const std::uint64_t trial : {1, 2, 3}) runs.launch(TrialId{trial}, 1);
  runs.keep({message(1, 0), message(2, 0), end(3, 0, engine::EndKind::finished)});
  const auto running =
      runs.drop_all_but({{TrialId{1}, 1, NodeId{0}, 0}, {TrialId{2}, 2, NodeId{0}, 0}});
  REQUIRE(running.size() == 1);
  CHECK(running[0].trial == TrialId{2});
  REQUIRE(runs.all().size() == 1);
  CHECK(runs.unacknowledged()[0].trial == TrialId{1});
}

TEST_CASE("a start that could not begin while the driver died has not failed", "[held_runs]") {
  HeldRuns runs;
  for (const std::uint64_t trial : {1, 2}) runs.launch(TrialId{trial}, 1);
  runs.keep({end(1, 0, engine::EndKind::failed), message(2, 0, engine::Started{}),
             end(2, 1, engine::EndKind::failed)});
  const auto told = runs.unacknowledged();
  REQUIRE(told.size() == 3);
  CHECK(std::get<engine::Ended>(told[0].report).kind == engine::EndKind::stopped);
  CHECK(std::get<engine::Ended>(told[2].report).kind == engine::EndKind::failed);
}

}  // namespace
}  // namespace tune::runtime
