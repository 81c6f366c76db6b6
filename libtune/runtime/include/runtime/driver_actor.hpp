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

namespace tune::runtime {

struct DriverSetup {
  std::unique_ptr<engine::Engine> engine;
  SearcherActor searcher;
  CallbackActor callbacks;
  caf::actor owner;  ///< Gets ExperimentOver.
  /// As long as more records wait for the callbacks, or commands for the searcher, what trials tell
  /// is left alone. They have a bounded number of unacknowledged messages, so all queues are
  /// bounded.
  std::uint64_t max_waiting = 10'000;
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
    AgentActor agent;
    TrialInfo origin;          // its name, address and process, for the records
    ResourceAmounts capacity;  // what it came with
    NodeTurn turn;             // what goes to it at the end of this turn
  };

  void on(NodeHello hello);
  void on(NodeNews news);
  void on(SearcherTurnDone done);
  void on(RecordTurnDone done);

  [[nodiscard]] Time now() const;
  [[nodiscard]] bool is_behind() const;
  void handle(const engine::Event& event);
  void handle_news(NodeNews& news);
  void handle_held_news();
  void fail(const std::string& reason, const std::string& fault);
  /// Carries out what the engine has said in this turn, and sends it all off.
  void end_turn();
  template <class Command>
  void carry_out(Command& command);
  [[nodiscard]] TrialInfo describe(engine::TrialStart start) const;
  void set_timer(const engine::SetTimer& command);
  void add_status();
  [[nodiscard]] report::RunStatus status() const;
  void send_turn();

  DriverActor::pointer self_;
  DriverSetup setup_;
  caf::actor_clock::time_point begin_;
  std::vector<Node> nodes_;  // by their id
  std::vector<engine::Command> commands_;
  SearcherTurn searcher_turn_;
  RecordTurn record_turn_;
  std::uint64_t waiting_records_ = 0;            // with the callbacks, not yet written
  std::uint64_t waiting_searcher_commands_ = 0;  // with the searcher, not yet handled
  std::deque<NodeNews> held_news_;               // as long as too much waits
  bool is_status_new_ = false;                   // something has happened since it was told
  bool is_status_timer_set_ = false;             // it will be told
  Time next_status_{0};                          // not before
  std::string fault_;                            // what breaks the experiment off
  std::optional<ExperimentEnd> end_;
};

/// The body of the driver actor.
DriverActor::behavior_type drive(DriverActor::stateful_pointer<Driver> self, DriverSetup setup);

}  // namespace tune::runtime
