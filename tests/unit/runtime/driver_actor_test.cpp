#include "runtime/driver_actor.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <catch2/catch.hpp>

#include <tune/schedulers/fifo.hpp>

namespace tune::runtime {
namespace {

/// What the driver told those around it.
struct Heard {
  std::vector<NodeCommand> node;
  std::vector<Acknowledgement> credit;
  std::vector<Record> records;
  std::vector<SearcherCommand> searcher;
  std::vector<report::RunStatus> statuses;
  std::vector<std::string> letters;
  std::vector<NodeId> gone;
  std::optional<ExperimentEnd> over;
  // Then what they get waits until the test says otherwise.
  bool callbacks_are_slow = false;
  bool journal_is_slow = false;
  bool searcher_is_slow = false;

  template <class Command, class Variant>
  static std::size_t count(const std::vector<Variant>& commands) {
    std::size_t count = 0;
    for (const Variant& command : commands) count += std::holds_alternative<Command>(command);
    return count;
  }
};

NodeActor::behavior_type fake_node(NodeActor::pointer, Heard* heard) {
  return {[](const NodeWelcome&) {},
          [=](const NodeTurn& turn) {
            heard->node.insert(heard->node.end(), turn.commands.begin(), turn.commands.end());
            heard->credit.insert(heard->credit.end(), turn.acknowledgements.begin(),
                                 turn.acknowledgements.end());
          },
          [=](const NodeLetter& letter) { heard->letters.push_back(letter.bytes); },
          [=](const NodeGone& gone) { heard->gone.push_back(gone.node); }};
}

/// Suggests the trial's number.
SearcherActor::behavior_type fake_searcher(SearcherActor::pointer, Heard* heard) {
  return {[=](const SearcherTurn& turn) {
    SearcherTurnDone done;
    done.commands = heard->searcher_is_slow ? 0 : turn.commands.size();
    for (const SearcherCommand& command : turn.commands) {
      heard->searcher.push_back(command);
      if (const auto* ask = std::get_if<engine::AskSearcher>(&command)) {
        done.suggestions.push_back({ask->trial, Config(Json{{"x", ask->trial.value()}})});
      }
    }
    return done;
  }};
}

JournalActor::behavior_type fake_journal(JournalActor::pointer self, Heard* heard) {
  return {[=](const RecordTurn& turn) {
            heard->records.insert(heard->records.end(), turn.records.begin(), turn.records.end());
            if (turn.status) heard->statuses.push_back(*turn.status);
            const auto driver = caf::actor_cast<DriverActor>(self->current_sender());
            if (heard->journal_is_slow) return;
            self->send(driver, TurnCommitted{turn.records.size(), turn.acknowledgements, {}});
            if (heard->callbacks_are_slow) return;
            self->send(driver, RecordTurnDone{turn.records.size(), {}, {}});
          },
          [](const CommitDue&) {}, [](const RecordTurnDone&) {}, [](const EndJournal&) {}};
}

caf::behavior fake_owner(caf::event_based_actor*, Heard* heard) {
  return {[=](const ExperimentOver& over) { heard->over = over.end; }};
}

struct TestConfig : caf::actor_system_config {
  TestConfig() { set("scheduler.policy", caf::atom("testing")); }
};

/// A driver with a real engine and a virtual clock, and nobody real around it.
class DriverFixture {
 public:
  ~DriverFixture() {
    for (const auto& actor : actors_) caf::anon_send_exit(actor, caf::exit_reason::kill);
    scheduler().run();
    system_.await_actors_before_shutdown(false);
  }

 protected:
  void start(engine::EngineOptions options, std::uint64_t max_waiting = 10'000,
             Time status_interval = Time(0), Time record_interval = Time(0)) {
    DriverSetup setup;
    setup.begin.event.options = std::make_shared<const engine::EngineOptions>(options);
    setup.engine = std::make_unique<engine::Engine>(std::move(options), fifo());
    setup.searcher = keep(system_.spawn(fake_searcher, &heard));
    setup.journal = keep(system_.spawn(fake_journal, &heard));
    setup.owner = keep(system_.spawn(fake_owner, &heard));
    setup.max_waiting = max_waiting;
    setup.status_interval = status_interval;
    setup.record_interval = record_interval;
    driver = keep(system_.spawn(drive, std::move(setup)));
    join(heard);
  }
  /// Another node, of one slot.
  void join(Heard& of_node, bool is_local = true, bool takes_part = true) {
    ResourceAmounts capacity;
    capacity.set("cpu", 1000);
    const NodeActor node = keep(system_.spawn(fake_node, &of_node));
    tell(NodeHello{"host", "127.0.0.1", 42, capacity, node, {}, is_local, takes_part});
  }
  template <class Message>
  void tell(Message message) {
    caf::anon_send(driver, std::move(message));
    scheduler().run();
  }
  void tell_trial(std::uint64_t trial, std::vector<engine::TrialReport> reports,
                  std::uint64_t first = 0) {
    NodeNews news{NodeId{0}, {}};
    for (engine::TrialReport& report : reports) {
      news.messages.push_back({TrialId{trial}, 1, first++, std::move(report)});
    }
    tell(std::move(news));
  }
  caf::scheduler::test_coordinator& scheduler() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  }

  Heard heard;
  DriverActor driver;

 private:
  template <class Handle>
  Handle keep(Handle actor) {
    actors_.push_back(caf::actor_cast<caf::strong_actor_ptr>(actor));
    return actor;
  }

  TestConfig config_;
  caf::actor_system system_{config_};
  std::vector<caf::strong_actor_ptr> actors_;
};

engine::Reported result(std::int64_t iteration) { return {Result(0, iteration)}; }

engine::EngineOptions trials(std::uint64_t count) {
  engine::EngineOptions options;
  options.max_trials = count;
  return options;
}

TEST_CASE_METHOD(DriverFixture, "the driver runs a trial from suggestion to end", "[driver]") {
  start(trials(1));
  REQUIRE(Heard::count<engine::Launch>(heard.node) == 1);
  const auto& launch = std::get<engine::Launch>(heard.node.at(0));
  CHECK(launch.config == Config(Json{{"x", 0U}}));
  tell_trial(
      0, {engine::Started{}, result(1), result(2), engine::Ended{engine::EndKind::finished, {}}});
  CHECK(Heard::count<engine::RecordResult>(heard.records) == 2);
  CHECK(Heard::count<engine::TellSearcherCompleted>(heard.searcher) == 1);
  REQUIRE(heard.over);
  CHECK(heard.over->terminated_trials == 1);
  CHECK(heard.over->reason == "all trials ended");

  const auto started = std::find_if(heard.records.begin(), heard.records.end(), [](const auto& r) {
    return std::holds_alternative<TrialInfo>(r);
  });
  REQUIRE(started != heard.records.end());
  const auto& info = std::get<TrialInfo>(*started);
  CHECK(info.id == TrialId{0});
  CHECK(info.node == "host");
  CHECK(info.node_ip == "127.0.0.1");
  CHECK(info.pid == 42);
}

TEST_CASE_METHOD(DriverFixture, "a time budget is over when the clock says so", "[driver]") {
  engine::EngineOptions options = trials(1);
  options.time_budget = std::chrono::minutes(10);
  start(std::move(options));
  tell_trial(0, {engine::Started{}, result(1)});
  scheduler().advance_time(std::chrono::seconds(599));
  scheduler().run();
  CHECK(Heard::count<engine::Stop>(heard.node) == 0);
  scheduler().advance_time(std::chrono::seconds(2));
  scheduler().run();
  CHECK(Heard::count<engine::Stop>(heard.node) == 1);
  CHECK_FALSE(heard.over);
  tell_trial(0, {engine::Ended{engine::EndKind::stopped, {}}}, 2);
  REQUIRE(heard.over);
  CHECK_THAT(heard.over->reason, Catch::Contains("time budget"));
}

TEST_CASE_METHOD(DriverFixture, "a time budget beyond all clocks never ends", "[driver]") {
  engine::EngineOptions options = trials(1);
  options.time_budget = Time(1e300);
  start(std::move(options));
  tell_trial(0, {engine::Started{}, engine::Ended{engine::EndKind::finished, {}}});
  REQUIRE(heard.over);
  CHECK(heard.over->reason == "all trials ended");
}

TEST_CASE_METHOD(DriverFixture, "agents' letters are passed on, and each loss is told before more",
                 "[driver]") {
  start(trials(1));
  Heard other;
  join(other, /*is_local=*/false);
  tell(NodeLetter{NodeId{0}, NodeId{1}, "to one"});
  tell(NodeLetter{NodeId{1}, NodeId{0}, "to zero"});
  tell(NodeLetter{NodeId{0}, NodeId{7}, "to nobody"});
  CHECK(other.letters == std::vector<std::string>{"to one"});
  CHECK(heard.letters == std::vector<std::string>{"to zero"});
  tell(NodeLost{NodeId{1}, "its connection broke"});
  CHECK(heard.gone == std::vector<NodeId>{NodeId{1}});
  CHECK(other.gone.empty());
  tell(NodeLetter{NodeId{0}, NodeId{1}, "too late"});
  CHECK(other.letters.size() == 1);
}

TEST_CASE_METHOD(DriverFixture, "credit goes back once the records are in the journal",
                 "[driver]") {
  heard.journal_is_slow = true;
  start(trials(1));
  tell_trial(0, {engine::Started{}, result(1), result(2)});
  CHECK(heard.credit.empty());
  tell(TurnCommitted{heard.records.size(), {{NodeId{0}, TrialId{0}, 1, 3}}, {}});
  REQUIRE(heard.credit.size() == 1);
  CHECK(heard.credit[0].count == 3);
}

TEST_CASE_METHOD(DriverFixture, "a turn's messages of a trial are acknowledged together",
                 "[driver]") {
  start(trials(1));
  tell_trial(0, {engine::Started{}, result(1), result(2)});
  REQUIRE(heard.credit.size() == 1);
  CHECK(heard.credit[0].trial == TrialId{0});
  CHECK(heard.credit[0].incarnation == 1);
  CHECK(heard.credit[0].count == 3);
}

TEST_CASE_METHOD(DriverFixture, "records wait for others, but not for long, nor for the end",
                 "[driver]") {
  start(trials(1), 10'000, Time(0), Time(0.002));
  const auto results = [&] { return Heard::count<engine::RecordResult>(heard.records); };
  const auto wait = [&] {
    scheduler().advance_time(std::chrono::milliseconds(2));
    scheduler().run();
  };
  wait();  // what came of the start
  wait();
  tell_trial(0, {engine::Started{}, result(1)});
  CHECK(results() == 1);  // the last ones went long ago
  tell_trial(0, {result(2)}, 2);
  CHECK(results() == 1);
  wait();
  CHECK(results() == 2);
  for (int i = 3; i < 103; ++i) tell_trial(0, {result(i)}, static_cast<std::uint64_t>(i));
  CHECK(results() > 2);  // there are many
  tell_trial(0, {result(103), engine::Ended{engine::EndKind::finished, {}}}, 103);
  CHECK(results() == 103);
  CHECK(heard.over);
}

TEST_CASE_METHOD(DriverFixture, "what trials tell waits while the callbacks are behind",
                 "[driver]") {
  heard.callbacks_are_slow = true;
  start(trials(2), 10);
  REQUIRE(heard.records.size() < 10);
  tell_trial(0, {engine::Started{}, result(1), result(2), result(3)});
  const std::size_t written = heard.records.size();
  REQUIRE(written > 10);
  tell_trial(0, {result(4), engine::Ended{engine::EndKind::finished, {}}}, 4);
  CHECK(heard.records.size() == written);
  CHECK(Heard::count<engine::Launch>(heard.node) == 1);
  RecordTurnDone done;
  done.records = written;
  tell(std::move(done));
  CHECK(heard.records.size() > written);
  CHECK(Heard::count<engine::Launch>(heard.node) == 2);
}

TEST_CASE_METHOD(DriverFixture, "what trials tell waits while the searcher is behind", "[driver]") {
  heard.searcher_is_slow = true;
  engine::EngineOptions options = trials(2);
  options.searcher_wants_results = true;
  start(std::move(options), 2);
  tell_trial(0, {engine::Started{}, result(1), result(2), result(3)});
  const std::size_t told = heard.searcher.size();
  REQUIRE(told > 3);
  tell_trial(0, {result(4)}, 4);
  CHECK(heard.searcher.size() == told);
  SearcherTurnDone done;
  done.commands = told;
  tell(std::move(done));
  CHECK(heard.searcher.size() == told + 1);
}

TEST_CASE_METHOD(DriverFixture, "a checkpoint goes once no callback will hear of it any more",
                 "[driver]") {
  heard.callbacks_are_slow = true;
  engine::EngineOptions options = trials(1);
  options.trainable_checkpoints = true;
  options.checkpoint = {.every = 1, .keep = 1};
  start(std::move(options));
  tell_trial(0, {engine::Started{}, result(1), engine::CheckpointStored{"checkpoint_000001", 1, 1},
                 result(2), engine::CheckpointStored{"checkpoint_000002", 2, 2},
                 engine::Ended{engine::EndKind::finished, {}}});
  CHECK(Heard::count<engine::DeleteCheckpoint>(heard.records) == 1);
  CHECK(Heard::count<engine::DeleteCheckpoint>(heard.node) == 0);
  CHECK_FALSE(heard.over);
  RecordTurnDone done;
  done.records = heard.records.size();
  done.deletions = {{{"00000", "checkpoint_000001"}}};
  tell(std::move(done));
  CHECK(Heard::count<engine::DeleteCheckpoint>(heard.node) == 1);
  CHECK(heard.over);
}

TEST_CASE_METHOD(DriverFixture, "storage that fails at the very end is still heard of",
                 "[driver]") {
  heard.callbacks_are_slow = true;
  start(trials(1));
  tell_trial(0, {engine::Started{}, engine::Ended{engine::EndKind::finished, {}}});
  CHECK_FALSE(heard.over);
  RecordTurnDone done;
  done.records = heard.records.size();
  done.storage_error = "cannot write /x: no space";
  tell(std::move(done));
  REQUIRE(heard.over);
  CHECK(heard.over->error == "cannot write /x: no space");
  CHECK(heard.over->terminated_trials == 1);
}

TEST_CASE_METHOD(DriverFixture, "storage that fails ends the experiment", "[driver]") {
  start(trials(3));
  tell_trial(0, {engine::Started{}});
  RecordTurnDone done;
  done.storage_error = "cannot write /x: no space";
  tell(done);
  CHECK(Heard::count<engine::Stop>(heard.node) == 1);
  tell(done);  // it is said in every answer, and counts once
  tell_trial(0, {engine::Ended{engine::EndKind::stopped, {}}}, 1);
  REQUIRE(heard.over);
  CHECK(heard.over->error == "cannot write /x: no space");
  CHECK(heard.over->reason == "the storage failed");
}

TEST_CASE_METHOD(DriverFixture, "a fault that the searcher meets ends the experiment", "[driver]") {
  start(trials(3));
  SearcherTurnDone done;
  done.fault = "searcher failed at a result of trial 0: no idea";
  tell(std::move(done));
  tell_trial(0, {engine::Started{}, engine::Ended{engine::EndKind::stopped, {}}});
  REQUIRE(heard.over);
  CHECK(heard.over->error == "searcher failed at a result of trial 0: no idea");
}

TEST_CASE_METHOD(DriverFixture, "a fault that the searcher meets at the very end is heard of",
                 "[driver]") {
  heard.searcher_is_slow = true;
  start(trials(1));
  tell_trial(0, {engine::Started{}, engine::Ended{engine::EndKind::finished, {}}});
  CHECK_FALSE(heard.over);
  SearcherTurnDone done;
  done.commands = heard.searcher.size();
  done.fault = "searcher failed at the end of trial 0: no idea";
  tell(std::move(done));
  REQUIRE(heard.over);
  CHECK(heard.over->error == "searcher failed at the end of trial 0: no idea");
}

TEST_CASE_METHOD(DriverFixture, "a request to stop stops what runs", "[driver]") {
  start(trials(3));
  tell_trial(0, {engine::Started{}, result(1)});
  tell(engine::StopRequested{"somebody asked"});
  CHECK(Heard::count<engine::Stop>(heard.node) == 1);
  tell_trial(0, {engine::Ended{engine::EndKind::stopped, {}}}, 2);
  REQUIRE(heard.over);
  CHECK(heard.over->reason == "somebody asked");
}

TEST_CASE_METHOD(DriverFixture, "the status is told now and then, and only if something happens",
                 "[driver]") {
  start(trials(2), 10'000, Time(0.25));
  REQUIRE(heard.statuses.size() == 1);
  CHECK(heard.statuses[0].scheduler == "fifo");
  CHECK(heard.statuses[0].waiting == "no node is there");
  tell_trial(0, {engine::Started{}, result(1)});
  for (std::uint64_t i = 2; i < 100; ++i) tell_trial(0, {result(static_cast<int>(i))}, i);
  CHECK(heard.statuses.size() == 1);
  scheduler().advance_time(std::chrono::milliseconds(250));
  scheduler().run();
  REQUIRE(heard.statuses.size() == 2);
  CHECK(heard.statuses[1].resources.amount("cpu") == 1000);
  CHECK(heard.statuses[1].resources_in_use.amount("cpu") == 1000);
  // Nobody says anything: not even a timer is left.
  scheduler().advance_time(std::chrono::hours(1));
  scheduler().run();
  CHECK(heard.statuses.size() == 2);
  CHECK_FALSE(scheduler().has_pending_timeout());
  tell_trial(0, {result(100)}, 100);
  CHECK(heard.statuses.size() == 3);
}

TEST_CASE_METHOD(DriverFixture, "without a display no status is told", "[driver]") {
  start(trials(1));
  tell_trial(0, {engine::Started{}, result(1)});
  scheduler().advance_time(std::chrono::hours(1));
  scheduler().run();
  CHECK(heard.statuses.empty());
}

TEST_CASE_METHOD(DriverFixture, "the trials of a node that is lost go on elsewhere", "[driver]") {
  start(trials(1));
  Heard other;
  join(other, /*is_local=*/false);
  tell_trial(0, {engine::Started{}, result(1)});
  tell(NodeLost{NodeId{0}, "its connection broke"});
  REQUIRE(Heard::count<engine::Launch>(other.node) == 1);
  CHECK(std::get<engine::Launch>(other.node[0]).incarnation == 2);
  // What comes late of the first start counts for nothing, and gets no credit.
  heard.credit.clear();
  tell_trial(0, {result(2), engine::Ended{engine::EndKind::finished, {}}}, 2);
  CHECK(Heard::count<engine::RecordResult>(heard.records) == 1);
  CHECK(heard.credit.empty());
  CHECK_FALSE(heard.over);
  NodeNews news{NodeId{1}, {}};
  news.messages.push_back({TrialId{0}, 2, 0, engine::Started{}});
  news.messages.push_back({TrialId{0}, 2, 1, engine::Ended{engine::EndKind::finished, {}}});
  tell(std::move(news));
  REQUIRE(heard.over);
  CHECK(heard.over->terminated_trials == 1);
}

TEST_CASE_METHOD(DriverFixture, "without a node the experiment waits", "[driver]") {
  engine::EngineOptions options = trials(1);
  options.fixed_cluster = false;
  start(std::move(options), 10'000, Time(0.25));
  tell(NodeLost{NodeId{0}, "its connection broke"});
  scheduler().advance_time(std::chrono::seconds(1));
  scheduler().run();
  CHECK_FALSE(heard.over);
  REQUIRE_FALSE(heard.statuses.empty());
  CHECK(heard.statuses.back().waiting == "no node is there");
  const auto notes = Heard::count<NodeNote>(heard.records);
  CHECK(notes == 2);  // of the loss, and that the experiment waits
  Heard other;
  join(other, /*is_local=*/false);
  CHECK(Heard::count<engine::Launch>(other.node) == 1);
}

TEST_CASE_METHOD(DriverFixture, "the driver's own machine deletes checkpoints, and no other",
                 "[driver]") {
  start(trials(1));
  Heard other;
  join(other, /*is_local=*/false);
  RecordTurnDone done;
  done.deletions = {{{"00000", "checkpoint_000001"}}};
  tell(std::move(done));
  CHECK(Heard::count<engine::DeleteCheckpoint>(heard.node) == 1);
  CHECK(Heard::count<engine::DeleteCheckpoint>(other.node) == 0);
}

TEST_CASE_METHOD(DriverFixture, "a node that takes no part runs no trials", "[driver]") {
  engine::EngineOptions options = trials(2);
  options.fixed_cluster = false;
  start(std::move(options));
  Heard other;
  join(other, /*is_local=*/true, /*takes_part=*/false);
  CHECK(Heard::count<engine::Launch>(heard.node) == 1);
  CHECK(Heard::count<engine::Launch>(other.node) == 0);
}

TEST_CASE_METHOD(DriverFixture, "a warning of a node is recorded", "[driver]") {
  start(trials(1));
  tell(NodeWarning{"cannot remove /x"});
  REQUIRE(Heard::count<engine::RecordWarning>(heard.records) == 1);
  CHECK(std::get<engine::RecordWarning>(heard.records.back()).text == "cannot remove /x");
}

}  // namespace
}  // namespace tune::runtime
