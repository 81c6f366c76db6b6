#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/actor.hpp>
#include <caf/actor_clock.hpp>
#include <caf/stateful_actor.hpp>

#include "engine/engine.hpp"
#include "runtime/messages.hpp"
#include "runtime/snapshot_pace.hpp"

namespace tune::runtime {

/// Where a session begins.
struct SessionBegin {
  engine::SessionStarted event = {};
  Time time{0};                       ///< Engine time of the last event before.
  store::EventNumber last_event = 0;  ///< Its number; 0: there is none.
};

struct DriverSetup {
  std::unique_ptr<engine::Engine> engine;
  SearcherActor searcher;
  JournalActor journal;
  caf::actor owner;  ///< Gets ExperimentOver.
  SessionBegin begin = {};
  std::vector<std::string> notes = {};  ///< For the log, before all else.
  /// As long as more records wait for journal or callbacks, or commands for the searcher, what
  /// trials tell is left alone. They have a bounded number of unacknowledged messages, so all
  /// queues are bounded.
  std::uint64_t max_waiting = 4'000;
  /// Records go to the journal, and so make a transaction, at most so often, unless there are many:
  /// a transaction a turn costs more than the turn. 0: each turn's at its end.
  Time record_interval{0};
  /// How often the callbacks get a report::RunStatus at most, if anything happens; 0: never.
  Time status_interval{0};
};

/// Runs the engine: each message becomes events, the commands that come of them become messages.
///
/// Never blocks: whoever thinks or writes long is another actor. Ends with the experiment.
class Driver {
 public:
  explicit Driver(DriverActor::pointer self) : self_(self) {}
  DriverActor::behavior_type make_behavior(DriverSetup setup);

 private:
  struct Node {
    NodeActor agent;                     // null: it is lost
    TrialInfo origin;                    // its name, address and process, for the records
    ResourceAmounts capacity;            // what it came with
    bool has_own_files = false;          // copies of checkpoints, in a directory of its own
    NodeTurn turn;                       // what goes to it at the end of this turn
    std::vector<engine::Adopt> adopted;  // for its welcome
  };

  void on(NodeHello hello);
  void on(const NodeLost& lost);
  void on(NodeNews news);
  /// Between two agents, which have no connection to each other.
  void pass_on(NodeLetter& letter);
  void on(SearcherTurnDone done);
  void on(const TurnCommitted& turn);
  void on(RecordTurnDone done);

  /// For people: two nodes may be on one machine.
  [[nodiscard]] std::string node_text(NodeId id) const;
  [[nodiscard]] Time now() const;
  [[nodiscard]] bool is_behind() const;
  void handle(engine::Event event);
  void handle_news(NodeNews& news);
  void handle_held_news();
  void fail(const std::string& reason, const std::string& fault);
  void carry_out_commands();
  /// Sends off all that this turn has brought.
  void end_turn();
  template <class Command>
  void carry_out(Command& command);
  [[nodiscard]] TrialInfo describe(engine::TrialStart start) const;
  void set_timer(const engine::SetTimer& command);
  void take_snapshots();
  void add_status();
  [[nodiscard]] report::RunStatus status() const;
  void send_turn();
  void send_records();

  DriverActor::pointer self_;
  DriverSetup setup_;
  caf::actor_clock::time_point begin_;
  std::vector<Node> nodes_;  // by their id
  std::vector<engine::Command> commands_;
  SearcherTurn searcher_turn_;
  RecordTurn record_turn_;
  std::uint64_t waiting_commits_ = 0;            // records that are not in the journal yet
  std::uint64_t waiting_records_ = 0;            // with journal or callbacks
  std::uint64_t waiting_searcher_commands_ = 0;  // with the searcher, not yet handled
  std::deque<NodeNews> held_news_;               // as long as too much waits
  bool is_status_new_ = false;                   // something has happened since it was told
  bool is_status_timer_set_ = false;             // it will be told
  Time next_status_{0};                          // not before
  bool is_record_timer_set_ = false;             // records will be sent
  Time next_records_{0};                         // not before, unless there are many
  store::EventNumber last_event_ = 0;
  SnapshotPace scheduler_pace_;
  SnapshotPace searcher_pace_;
  std::optional<NodeId> local_node_;                 // deletes checkpoints; others their copies
  std::vector<engine::DeleteCheckpoint> deletions_;  // as long as it is not there
  std::string fault_;                                // what breaks the experiment off
  std::optional<ExperimentEnd> end_;
};

/// The body of the driver actor.
DriverActor::behavior_type drive(DriverActor::stateful_pointer<Driver> self, DriverSetup setup);

}  // namespace tune::runtime
